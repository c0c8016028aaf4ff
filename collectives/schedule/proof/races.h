// Finds data races within one rank's schedule. A step uses its memory from when it is posted until it is done. So if
// two steps access the same bytes and one of them writes, dependencies must order them; the order of posting is not
// enough.
#pragma once

#include "collectives/schedule/proof/describe.h"

namespace railweave::collectives::proof {

// Errors: internal. REQUIRES: check_shape() found nothing.
Status check_races(const Problem& problem, const Schedule& schedule);

}  // namespace railweave::collectives::proof

// Memory of a step is in use from when it is posted until it is done. So two steps of a rank that touch the same bytes,
// one of them writing, must be ordered by dependencies; that they are posted in order is not enough.
#pragma once

#include "collectives/schedule/proof/describe.h"

namespace railweave::collectives::proof {

// REQUIRES: check_shape() found nothing.
Status check_races(const Problem& problem, const Schedule& schedule);

}  // namespace railweave::collectives::proof

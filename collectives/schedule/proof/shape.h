// What can be said of one rank's schedule step by step: dependencies are earlier steps, peers exist, pieces lie in
// their memory, the input is not written, forms fit.
#pragma once

#include "collectives/schedule/proof/describe.h"

namespace railweave::collectives::proof {

Status check_shape(const Problem& problem, const Schedule& schedule);

}  // namespace railweave::collectives::proof

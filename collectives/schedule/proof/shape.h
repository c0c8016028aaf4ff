// Checks each step of one rank's schedule by itself: dependencies are earlier steps, peers exist, pieces lie within
// their memory, the input is not written, and forms fit.
#pragma once

#include "collectives/schedule/proof/describe.h"

namespace railweave::collectives::proof {

Status check_shape(const Problem& problem, const Schedule& schedule);

}  // namespace railweave::collectives::proof

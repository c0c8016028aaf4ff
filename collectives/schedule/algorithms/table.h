// One function an algorithm, each in the file of its name; table.cc lists them.
#pragma once

#include "collectives/schedule/algorithm.h"

namespace railweave::collectives {

Algorithm all_gather_direct();
Algorithm all_gather_ring();
Algorithm reduce_scatter_direct();
Algorithm all_reduce_one_shot();
Algorithm all_reduce_direct();
Algorithm broadcast_binomial();
Algorithm reduce_direct();
Algorithm gather_direct();
Algorithm scatter_direct();
Algorithm all_to_all_direct();
Algorithm barrier_dissemination();

}  // namespace railweave::collectives

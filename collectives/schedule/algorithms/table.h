// One function per algorithm, each in the file of its name; table.cc lists them.
#pragma once

#include "collectives/schedule/algorithm.h"

namespace railweave::collectives {

Algorithm all_gather_direct();
Algorithm all_gather_recursive_doubling();
Algorithm all_gather_ring();
Algorithm all_gather_two_level();
Algorithm reduce_scatter_direct();
Algorithm reduce_scatter_recursive_halving();
Algorithm reduce_scatter_ring();
Algorithm reduce_scatter_two_level();
Algorithm all_reduce_one_shot();
Algorithm all_reduce_direct();
Algorithm all_reduce_recursive_doubling();
Algorithm all_reduce_ring();
Algorithm all_reduce_two_level();
Algorithm broadcast_direct();
Algorithm broadcast_binomial();
Algorithm broadcast_scatter_gather();
Algorithm broadcast_chain();
Algorithm reduce_direct();
Algorithm reduce_binomial();
Algorithm reduce_chain();
Algorithm gather_direct();
Algorithm scatter_direct();
Algorithm all_to_all_direct();
Algorithm all_to_all_bruck();
Algorithm barrier_dissemination();

}  // namespace railweave::collectives

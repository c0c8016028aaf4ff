#include "collectives/schedule/algorithms/table.h"

#include <array>

namespace railweave::collectives {

std::span<const Algorithm> algorithms() {
  static const std::array kAll{
      all_gather_direct(),
      all_gather_recursive_doubling(),
      all_gather_ring(),
      all_gather_two_level(),
      reduce_scatter_direct(),
      reduce_scatter_recursive_halving(),
      reduce_scatter_ring(),
      reduce_scatter_two_level(),
      all_reduce_one_shot(),
      all_reduce_direct(),
      all_reduce_recursive_doubling(),
      all_reduce_ring(),
      all_reduce_two_level(),
      broadcast_direct(),
      broadcast_binomial(),
      broadcast_scatter_gather(),
      broadcast_chain(),
      reduce_direct(),
      reduce_binomial(),
      reduce_chain(),
      gather_direct(),
      scatter_direct(),
      all_to_all_direct(),
      all_to_all_bruck(),
      barrier_dissemination(),
  };
  return kAll;
}

}  // namespace railweave::collectives

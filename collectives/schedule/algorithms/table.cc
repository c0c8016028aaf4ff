#include "collectives/schedule/algorithms/table.h"

#include <array>

namespace railweave::collectives {

std::span<const Algorithm> algorithms() {
  static const std::array kAll{
      all_gather_direct(),
      all_gather_ring(),
      reduce_scatter_direct(),
      all_reduce_one_shot(),
      all_reduce_direct(),
      broadcast_binomial(),
      reduce_direct(),
      gather_direct(),
      scatter_direct(),
      all_to_all_direct(),
      barrier_dissemination(),
  };
  return kAll;
}

}  // namespace railweave::collectives

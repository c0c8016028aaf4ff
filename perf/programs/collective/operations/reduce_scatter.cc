// What reduce_scatter_perf does and how its bandwidth is counted.
#include "collective/operation.h"

namespace railweave::perf::collective {

const Operation& reduce_scatter() {
  static constexpr Operation kOperation{
      .program = "reduce_scatter_perf",
      .name = "ReduceScatter",
      .reduces = true,
      .counts_all_ranks = true,
      .shape =
          [](std::size_t elements, std::size_t element_bytes, int ranks) {
            const std::size_t share = aligned_share(elements, element_bytes, ranks);
            return Shape{share * std::size_t(ranks), share, share, 0, share};
          },
      .bus_factor = without_own_share,
      .start =
          [](Group& group, const Call& call, std::vector<WorkPtr>& works) {
            works.push_back(
                group.reduce_scatter(call.input, call.output, call.count, call.type, call.reduction, {}, call.factor));
          },
      .expected =
          [](const Asking& asking) {
            return std::vector<Expected>{{0, asking.count, -1, std::size_t(asking.rank) * asking.count}};
          },
  };
  return kOperation;
}

}  // namespace railweave::perf::collective

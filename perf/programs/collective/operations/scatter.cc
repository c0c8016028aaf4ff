// What scatter_perf does and how its bandwidth is counted.
#include "collective/operation.h"

namespace railweave::perf::collective {

const Operation& scatter() {
  static constexpr Operation kOperation{
      .program = "scatter_perf",
      .name = "Scatter",
      .rooted = true,
      .counts_all_ranks = true,
      .shape =
          [](std::size_t elements, std::size_t, int ranks) {
            const std::size_t share = elements / std::size_t(ranks);
            return Shape{share * std::size_t(ranks), share, share, 0, share};
          },
      .bus_factor = without_own_share,
      .start =
          [](Group& group, const Call& call, std::vector<WorkPtr>& works) {
            const void* const input = group.rank() == call.root ? call.input : nullptr;
            works.push_back(group.scatter(input, call.output, call.count, call.type, call.root));
          },
      .expected =
          [](const Asking& asking) {
            return std::vector<Expected>{{0, asking.count, asking.root, std::size_t(asking.rank) * asking.count}};
          },
  };
  return kOperation;
}

}  // namespace railweave::perf::collective

// What gather_perf does and how its bandwidth is counted.
#include "collective/operation.h"

namespace railweave::perf::collective {

const Operation& gather() {
  static constexpr Operation kOperation{
      .program = "gather_perf",
      .name = "Gather",
      .rooted = true,
      .counts_all_ranks = true,
      .shape =
          [](std::size_t elements, std::size_t, int ranks) {
            const std::size_t share = elements / std::size_t(ranks);
            return Shape{share, share * std::size_t(ranks), share, share, 0};
          },
      .bus_factor = without_own_share,
      .start =
          [](Group& group, const Call& call, std::vector<WorkPtr>& works) {
            void* const output = group.rank() == call.root ? call.output : nullptr;
            works.push_back(group.gather(call.input, output, call.count, call.type, call.root));
          },
      .expected =
          [](const Asking& asking) {
            std::vector<Expected> parts;
            for (int p = 0; p < asking.ranks && asking.rank == asking.root; ++p) {
              parts.push_back({std::size_t(p) * asking.count, asking.count, p, 0});
            }
            return parts;
          },
  };
  return kOperation;
}

}  // namespace railweave::perf::collective

// What all_gather_perf does and how its bandwidth is counted.
#include "collective/operation.h"

namespace railweave::perf::collective {

const Operation& all_gather() {
  static constexpr Operation kOperation{
      .program = "all_gather_perf",
      .name = "AllGather",
      .counts_all_ranks = true,
      .shape =
          [](std::size_t elements, std::size_t element_bytes, int ranks) {
            const std::size_t share = aligned_share(elements, element_bytes, ranks);
            return Shape{share, share * std::size_t(ranks), share, share, 0};
          },
      .bus_factor = without_own_share,
      .start =
          [](Group& group, const Call& call, std::vector<WorkPtr>& works) {
            works.push_back(group.all_gather(call.input, call.output, call.count, call.type));
          },
      .expected =
          [](const Asking& asking) {
            std::vector<Expected> parts;
            for (int p = 0; p < asking.ranks; ++p) parts.push_back({std::size_t(p) * asking.count, asking.count, p, 0});
            return parts;
          },
  };
  return kOperation;
}

}  // namespace railweave::perf::collective

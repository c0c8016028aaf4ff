// What all_reduce_perf does and how its bandwidth is counted.
#include "collective/operation.h"

namespace railweave::perf::collective {

const Operation& all_reduce() {
  static constexpr Operation kOperation{
      .program = "all_reduce_perf",
      .name = "AllReduce",
      .reduces = true,
      .shape = same_everywhere,
      .bus_factor = [](int ranks) { return 2 * without_own_share(ranks); },
      .start =
          [](Group& group, const Call& call, std::vector<WorkPtr>& works) {
            works.push_back(
                group.all_reduce(call.input, call.output, call.count, call.type, call.reduction, {}, call.factor));
          },
      .expected =
          [](const Asking& asking) {
            return std::vector<Expected>{{0, asking.count, -1, 0}};
          },
  };
  return kOperation;
}

}  // namespace railweave::perf::collective

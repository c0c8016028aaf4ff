// What reduce_perf does and how its bandwidth is counted.
#include "collective/operation.h"

namespace railweave::perf::collective {

const Operation& reduce() {
  static constexpr Operation kOperation{
      .program = "reduce_perf",
      .name = "Reduce",
      .reduces = true,
      .rooted = true,
      .shape = same_everywhere,
      .bus_factor = once,
      .start =
          [](Group& group, const Call& call, std::vector<WorkPtr>& works) {
            works.push_back(group.reduce(call.input, call.output, call.count, call.type, call.reduction, call.root, {},
                                         call.factor));
          },
      .expected =
          [](const Asking& asking) {
            if (asking.rank != asking.root) return std::vector<Expected>{};
            return std::vector<Expected>{{0, asking.count, -1, 0}};
          },
  };
  return kOperation;
}

}  // namespace railweave::perf::collective

// What broadcast_perf does and how its bandwidth is counted.
#include "collective/operation.h"

namespace railweave::perf::collective {

const Operation& broadcast() {
  static constexpr Operation kOperation{
      .program = "broadcast_perf",
      .name = "Broadcast",
      .rooted = true,
      .shape = same_everywhere,
      .bus_factor = once,
      .start =
          [](Group& group, const Call& call, std::vector<WorkPtr>& works) {
            works.push_back(group.broadcast(call.input, call.output, call.count, call.type, call.root));
          },
      .expected =
          [](const Asking& asking) {
            return std::vector<Expected>{{0, asking.count, asking.root, 0}};
          },
  };
  return kOperation;
}

}  // namespace railweave::perf::collective

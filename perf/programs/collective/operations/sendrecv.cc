// What sendrecv_perf does and how its bandwidth is counted.
#include "collective/operation.h"

namespace railweave::perf::collective {

// Every rank sends to the next rank and receives from the previous one.
const Operation& sendrecv() {
  static constexpr Operation kOperation{
      .program = "sendrecv_perf",
      .name = "SendRecv",
      .in_place = false,
      .shape = same_everywhere,
      .bus_factor = once,
      .start =
          [](Group& group, const Call& call, std::vector<WorkPtr>& works) {
            const int rank = group.rank(), ranks = group.size();
            const std::size_t bytes = call.count * collectives::size_bytes(call.type);
            works.push_back(group.send(call.input, bytes, (rank + 1) % ranks));
            works.push_back(group.recv(call.output, bytes, (rank + ranks - 1) % ranks));
          },
      .expected =
          [](const Asking& asking) {
            return std::vector<Expected>{{0, asking.count, (asking.rank + asking.ranks - 1) % asking.ranks, 0}};
          },
  };
  return kOperation;
}

}  // namespace railweave::perf::collective

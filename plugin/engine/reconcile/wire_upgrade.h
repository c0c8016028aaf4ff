// When a lane of a pair of rails is replaced by a lane of a better wire (docs/internals/protocol.md, "Offers"). A lost
// lane is replaced by the first wire that works at once, such as TCP while an RDMA device has no GID yet. The better
// wire may work again soon. Reads no clock. Threads: one at a time.
#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "railweave/units.h"

namespace railweave::engine {

class WireUpgrade {
 public:
  // Starting values. The first is longer than a device takes to be ready after its link came up.
  static constexpr Nanos kFirstWait = std::chrono::seconds(10), kLongestWait = std::chrono::seconds(60);

  // Returns when a lane may be replaced. `up_since`: when the pair's last lane came up. `backoff`: the pair's last one.
  TimePoint due_at(TimePoint up_since, Nanos backoff) const {
    return std::max(up_since + std::max(kFirstWait, backoff), tried_at_ + wait_);
  }
  // A lane of `wire` is to be replaced: a better one is dialled.
  void began(TimePoint t, std::string wire) {
    tried_at_ = t;
    replaced_wire_ = std::move(wire);
  }
  // Outcomes of the dial.
  void failed() { wait_ = std::min(2 * wait_, kLongestWait); }
  void came_up() { wait_ = kFirstWait; }
  // Empty: no lane was ever to be replaced.
  const std::string& replaced_wire() const { return replaced_wire_; }

 private:
  TimePoint tried_at_{};
  Nanos wait_ = kFirstWait;
  std::string replaced_wire_;
};

}  // namespace railweave::engine

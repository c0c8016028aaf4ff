// What our kernel hears of a connection's peer, by its TCP_INFO: whether an answer is owed, and whether one is late.
//
// Pure. Threads: the lane's.
#pragma once

#include <cstdint>
#include <optional>

#include "railweave/units.h"
#include "wire/wire.h"

struct tcp_info;

namespace railweave::wire {

class LaneHearing {
 public:
  // To be called often: an answer is owed from the first look that sees so.
  Hearing look(TimePoint now, const tcp_info& info);

 private:
  std::optional<TimePoint> waiting_since_;   // an answer is owed, and none has come since ...
  std::uint64_t waiting_at_ = 0;             // ... that of this byte
  std::optional<TimePoint> silent_since_;
};

}  // namespace railweave::wire

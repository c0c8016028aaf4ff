// QueueingBound: an upper bound of a lane's rate, from the time until the bytes that the lane held were acknowledged.
// The bound serves where no sample ends, because all that the lane holds passes in one bunch per round trip. This
// happens where many senders share a rail, and the round trip is the queue that they make (docs/decisions/0019).
// Pure: time comes in as an argument.
#pragma once

#include <cstdint>
#include <optional>

#include "railweave/units.h"

namespace railweave::protocol {

class QueueingBound {
 public:
  struct Limit {
    Rate most;   // upper bound of the lane's rate
    Nanos over;  // for how long the lane was seen to carry no more
  };

  // Takes in a reading of the lane. `acknowledged_bytes`: ever. `outstanding_bytes`: now. `full`: the lane may not hold
  // much more. `min_rtt`: 0 if not known. Neither `now` nor `acknowledged_bytes` goes back.
  // Timing begins when `min_rtt` is known and a full lane holds at least three least segments. Timing ends when all but
  // the last quarter is acknowledged. Returns a bound if this took longer than `min_rtt` and the 2 ms that
  // acknowledgements may be late.
  // A lane that is not full or holds less is timed too, from half a least segment on. The allowance is then 60 ms: so
  // long the receiver's timer may hold back an acknowledgement. Without this timing, a lane believed too fast would get
  // one segment at a time for ever.
  std::optional<Limit> observe(TimePoint now, std::uint64_t acknowledged_bytes, std::uint64_t outstanding_bytes,
                               bool full, Nanos min_rtt);

 private:
  std::uint64_t bytes_ = 0;                // outstanding at `since_`; 0: nothing is timed
  Nanos late_{0};                          // how late the acknowledgement may be
  std::uint64_t acknowledged_enough_ = 0;  // bytes acknowledged, ever, at which timing ends
  TimePoint since_{}, until_{};            // first and last reading while fewer are acknowledged
};

}  // namespace railweave::protocol

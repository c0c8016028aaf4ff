// A lane can be no faster than what it held allows: so many bytes, so long until they were acknowledged. That bounds an
// estimate where no sample can, because all that the lane holds goes through in one bunch per round trip, as where many
// senders share a rail and a round trip is the queue they make (docs/decisions/0019). Time comes in as an argument.
#pragma once

#include <cstdint>
#include <optional>

#include "railweave/units.h"

namespace railweave::protocol {

class QueueingBound {
 public:
  struct Limit {
    Rate most;   // the lane carries
    Nanos over;  // so long it was seen to carry no more
  };

  // A look: `acknowledged_bytes` ever, `outstanding_bytes` now; `full`: the lane may not hold much more; `min_rtt`: 0
  // if not known. Neither `now` nor `acknowledged_bytes` goes back. What a lane holds is timed from a look at which it
  // is full, holds at least three least segments and `min_rtt` is known, until all but the last quarter is through. A
  // bound if that took longer than `min_rtt` and the 2 ms that acknowledgements may be late. Less than that is timed,
  // too, from half a least segment on, but the receiver's timer may hold back its acknowledgement for 60 ms: a lane
  // that is believed faster than it is would get one segment at a time for ever.
  std::optional<Limit> observe(TimePoint now, std::uint64_t acknowledged_bytes, std::uint64_t outstanding_bytes,
                               bool full, Nanos min_rtt);

 private:
  std::uint64_t bytes_ = 0;                // outstanding at `since_`; 0: nothing is timed
  Nanos late_{0};                          // that the acknowledgement may be
  std::uint64_t acknowledged_enough_ = 0;  // ever; then all but the last quarter is through
  TimePoint since_{}, until_{};            // first and last look at which it was not
};

}  // namespace railweave::protocol

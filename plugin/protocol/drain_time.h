// A lane can be no faster than what it held allows: so many bytes, so long until they were acknowledged. That bounds an estimate
// where no sample can, because whatever the lane holds goes through at once, in one bunch per round trip, as where many senders
// share a rail and each holds two segments in its queue (docs/decisions/0019). Time comes in as an argument.
#pragma once

#include <cstdint>
#include <optional>

#include "railweave/units.h"

namespace railweave::protocol {

class DrainTime {
 public:
  struct Bound {
    Rate most;   // the lane carries
    Nanos over;  // so long it was seen to carry no more
  };

  // `acknowledged_bytes` ever, `outstanding_bytes` now; `min_rtt`: 0 if not known. A bound when what was outstanding at an
  // earlier look is through, and took longer than its way and its acknowledgement's.
  std::optional<Bound> observe(TimePoint now, std::uint64_t acknowledged_bytes, std::uint64_t outstanding_bytes, Nanos min_rtt);

 private:
  std::uint64_t bytes_ = 0;         // outstanding when it began; 0: nothing is timed
  std::uint64_t acknowledged_ = 0;  // when they are through
  TimePoint since_{}, until_{};     // they were on their way at both looks
};

}  // namespace railweave::protocol

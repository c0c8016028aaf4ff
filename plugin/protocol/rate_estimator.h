// How fast a lane carries bytes, from what its peer's kernel acknowledged while the lane had something outstanding.
// An idle lane teaches nothing; a short burst may raise the estimate, up to what was
// seen for longer, but never lower it. Time comes in as an argument.
#pragma once

#include <cstdint>

#include "railweave/units.h"

namespace railweave::protocol {

class RateEstimator {
 public:
  // `acknowledged_bytes` ever, `outstanding_bytes` now. Call before each scheduling decision; cheap.
  void observe(TimePoint now, std::uint64_t acknowledged_bytes, std::uint64_t outstanding_bytes);

  bool known() const { return known_; }
  Rate rate() const { return rate_; }

  // A lane left idle because it looked slow earns another try: its estimate grows while it is idle.
  void age(TimePoint now);

 private:
  void sample(Rate seen, Nanos over, bool may_lower);

  bool known_ = false;
  bool sound_ = false;                     // from longer than a burst
  bool busy_ = false;
  std::uint64_t handed_ = 0;               // acknowledged or outstanding when it was observed last
  TimePoint seen_{};                       // when it was observed last
  Rate rate_;
  Rate fastest_;                           // ever seen for longer than a burst: aging and bursts stop there
  TimePoint since_{};                      // start of the running sample
  TimePoint idle_since_{};
  std::uint64_t acknowledged_at_start_ = 0;
};

}  // namespace railweave::protocol

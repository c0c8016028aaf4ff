// How fast a lane carries bytes, from what its peer's kernel acknowledged while the lane had enough outstanding.
// Acknowledgements come in bunches, behind what the peer sends on the lane, and the one of a last small piece may wait
// for a timer. So a sample begins and ends at an acknowledgement (as BBR's do:
// draft-cardwell-iccrg-bbr-congestion-control, 4.1.1), and a lane with less outstanding than kBusyBytes teaches
// nothing. A short burst may raise the estimate, up to what samples showed, but never lower it; what was carried in a
// longer time may raise it further. Silence, and what a full lane held for long (queueing_bound.h), lower it and set no
// limit. Time comes in as an argument.
#pragma once

#include <algorithm>
#include <cstdint>

#include "railweave/units.h"

namespace railweave::protocol {

class RateEstimator {
 public:
  // `acknowledged_bytes` ever, `outstanding_bytes` now. Call before each scheduling decision; cheap. True when that
  // ended a sample.
  bool observe(TimePoint now, std::uint64_t acknowledged_bytes, std::uint64_t outstanding_bytes);
  // So many more were given to the lane since then.
  void handed(std::uint64_t bytes);
  // The peer consumed all that was: small messages one after the other are no burst.
  void drained();

  bool known() const { return known_; }
  Rate rate() const { return rate_; }

  // What slowed an idle lane may be over: its estimate grows, up to the fastest that samples showed, if `grow`.
  void age(TimePoint now, bool grow);
  // The lane was seen to carry no more than `most`, `over` so long: lowers the estimate as silence of that length
  // would.
  void no_faster(Rate most, Nanos over);
  // The lane carries so much, however that was found. Bursts still prove nothing beyond what samples showed.
  void bound(Rate least, Rate most) { rate_ = std::clamp(rate_, least, most); }

 private:
  void begin(TimePoint now, bool at_acknowledgement);
  void check_peers(TimePoint now);
  void burst(Rate seen, Nanos over);
  void silence(Rate seen, Nanos over);
  bool sample(Rate seen, Nanos over);
  bool carried_all(Rate seen) const;
  void move(Rate seen, double weight);

  bool known_ = false;
  bool busy_ = false;
  std::uint64_t acknowledged_ = 0;  // when it was observed last
  std::uint64_t handed_ = 0;        // ever
  Rate rate_;
  Rate fastest_;         // that the estimate ever was by samples: aging and bursts stop there
  Rate before_lowered_;  // the same, before the first sample, when something lowered it
  Nanos sampled_{};      // time that all samples lasted
  // The running sample.
  TimePoint since_{};
  // else since the lane became busy: the first acknowledgement is a round trip away
  bool since_acknowledgement_ = false;
  std::uint64_t acknowledged_at_start_ = 0, handed_at_start_ = 0;
  TimePoint idle_since_{};
  TimePoint window_since_{};
  std::uint64_t acknowledged_at_window_ = 0;
};

}  // namespace railweave::protocol

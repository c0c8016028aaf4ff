// RateEstimator: how fast a lane carries bytes, from the acknowledgements of its peer's kernel. Acknowledgements come
// in bunches, behind the peer's data, and one for a small last piece may wait for a timer. So a sample begins and ends
// at an acknowledgement, as BBR's do (draft-cardwell-iccrg-bbr-congestion-control, 4.1.1). A lane with less outstanding
// than kBusyBytes gives no sample.
// A short burst may raise the estimate, up to what samples showed, but never lowers it. The bytes carried in a longer
// time may raise it further. Silence, and what a full lane held for long (queueing_bound.h), lower the estimate and set
// no limit for later growth. Pure: time comes in as an argument.
#pragma once

#include <algorithm>
#include <cstdint>

#include "railweave/units.h"

namespace railweave::protocol {

class RateEstimator {
 public:
  // `acknowledged_bytes`: ever. `outstanding_bytes`: now. Cheap; call before each scheduling decision. True: this call
  // ended a sample.
  bool observe(TimePoint now, std::uint64_t acknowledged_bytes, std::uint64_t outstanding_bytes);
  // The lane was given `bytes` more since the last observe().
  void handed(std::uint64_t bytes);
  // The peer consumed all that the lane was given: small messages one after the other are no burst.
  void drained();

  bool known() const { return known_; }
  Rate rate() const { return rate_; }

  // Lets the estimate of an idle lane grow if `grow`, up to the fastest that samples showed: the cause of the slowness
  // may be over.
  void age(TimePoint now, bool grow);
  // The lane was seen to carry no more than `most`, for `over`. Lowers the estimate as a silence of that length would.
  void no_faster(Rate most, Nanos over);
  // Clamps the estimate to bounds that another measurement found. Bursts still raise it only to what samples showed.
  void bound(Rate least, Rate most) { rate_ = std::clamp(rate_, least, most); }

 private:
  void begin(TimePoint now, bool at_acknowledgement);
  void review_window(TimePoint now);
  void burst(Rate seen, Nanos over);
  void silence(Rate seen, Nanos over);
  bool sample(Rate seen, Nanos over);
  bool carried_all(Rate seen) const;
  void move(Rate seen, double weight);

  bool known_ = false;
  bool busy_ = false;
  std::uint64_t acknowledged_ = 0;  // bytes, ever, at the last observe()
  std::uint64_t handed_ = 0;        // bytes, ever
  Rate rate_;
  Rate fastest_;         // highest estimate by samples; the limit for aging and bursts
  Rate before_lowered_;  // the limit before the first sample: highest estimate that something lowered
  Nanos sampled_{};      // length of all samples
  // The running sample.
  TimePoint since_{};
  // true: since an acknowledgement; false: since the lane became busy, a round trip before the first acknowledgement
  bool since_acknowledgement_ = false;
  std::uint64_t acknowledged_at_start_ = 0, handed_at_start_ = 0;
  TimePoint idle_since_{};
  TimePoint window_since_{};
  std::uint64_t acknowledged_at_window_ = 0;
};

}  // namespace railweave::protocol

// A lane that looks slow is passed over while others take what waits sooner, so it cannot show that it has become
// faster. A probe gives it a little padding all the same, and measures. Probes take a fortieth of the lane's time; of a
// lane of less than 4 Mb/s more, or it would not be asked for more than five seconds (while something waits). A
// shaper's bucket can make any lane look fast for a probe: one that finds a lane faster is repeated at once, and the
// worse of the two counts; it may change the estimate only so far, and after each such pair a lane waits longer for its
// next. Time comes in as an argument.
#pragma once

#include <cstdint>
#include <optional>

#include "railweave/units.h"

namespace railweave::protocol {

class LaneProbe {
 public:
  static constexpr std::uint64_t kBytes = 64 * KiB;  // of a lane of at least 2 Mb/s
  // What the lane carries.
  struct Bounds {
    Rate least, most;
  };

  LaneProbe();
  // The caller would pass the lane over now, with `outstanding_bytes` on it. True: the lane gets left_bytes() of
  // padding.
  // REQUIRES: observe() was told of `now`. `believed`: the lane's rate.
  bool begin(TimePoint now, std::uint64_t outstanding_bytes, Rate believed);
  // So many were given to the lane.
  void handed(std::uint64_t bytes);
  // `acknowledged_bytes` ever, `outstanding_bytes` now. When that ends a probe: its result, none if it was given too
  // little.
  std::optional<Bounds> observe(TimePoint now, std::uint64_t acknowledged_bytes, std::uint64_t outstanding_bytes);
  // The lane was used enough to teach by itself: it is not passed over any more.
  void used() { next_ = {}; }

  std::uint64_t left_bytes() const { return left_; }
  bool running() const { return running_; }
  bool passed_over() const { return next_ != TimePoint{}; }

 private:
  bool running_ = false;
  std::uint64_t bytes_ = kBytes;    // of the probe that runs
  std::uint64_t left_ = 0;          // to be handed
  std::uint64_t acknowledged_ = 0;  // ever
  std::uint64_t end_ = 0;           // acknowledged when the probe ends
  std::optional<Bounds> faster_;    // the last probe said so, and is to be repeated
  TimePoint since_{}, looked_{};    // began; was looked at last
  Rate believed_;                   // then
  TimePoint next_{};                // set when the lane is passed over first
  Nanos first_rest_;                // from that time to the first probe; longer after each that raised its rate
};

}  // namespace railweave::protocol

// LaneProbe: measures a lane that looks slow, with a little padding. Such a lane is passed over while other lanes take
// the waiting data sooner. Without probes this lane could not show that it has become faster.
// Probes take a fortieth of the lane's time. Below 4 Mb/s they take more, because the pause between two probes is at
// most five seconds (while data waits).
// A shaper's bucket can make any lane look fast for one probe. So a probe that finds a lane faster is repeated at once,
// and the worse result counts. A result changes the estimate by a bounded factor. After each pair that raised the
// estimate, the lane waits longer for its next probe. Pure: time comes in as an argument.
#pragma once

#include <cstdint>
#include <optional>

#include "railweave/units.h"

namespace railweave::protocol {

class LaneProbe {
 public:
  static constexpr std::uint64_t kBytes = 64 * KiB;  // bytes of a probe; fewer below 2 Mb/s
  // What the lane carries, at least and at most.
  struct Bounds {
    Rate least, most;
  };

  LaneProbe();
  // The caller would pass the lane over now, with `outstanding_bytes` on it. True: a probe begins, and the lane gets
  // left_bytes() of padding. `believed`: the lane's estimated rate.
  // REQUIRES: observe() was called with this `now`.
  bool begin(TimePoint now, std::uint64_t outstanding_bytes, Rate believed);
  // The lane was given `bytes` more.
  void handed(std::uint64_t bytes);
  // `acknowledged_bytes`: ever. `outstanding_bytes`: now. Returns the result if this ends a probe. None if the probe
  // got too little padding, or is to be repeated.
  std::optional<Bounds> observe(TimePoint now, std::uint64_t acknowledged_bytes, std::uint64_t outstanding_bytes);
  // The lane carried enough to be measured without probes: it is not passed over any more.
  void used() { next_ = {}; }

  std::uint64_t left_bytes() const { return left_; }
  bool running() const { return running_; }
  bool passed_over() const { return next_ != TimePoint{}; }

 private:
  bool running_ = false;
  std::uint64_t bytes_ = kBytes;       // bytes of the running probe
  std::uint64_t left_ = 0;             // bytes of padding still to be given to the lane
  std::uint64_t acknowledged_ = 0;     // bytes, ever
  std::uint64_t end_ = 0;              // acknowledged_ at which the probe ends
  std::optional<Bounds> faster_;       // result of the last probe, which is to be repeated
  TimePoint since_{}, observed_at_{};  // when the probe began; last observe()
  Rate believed_;                      // estimate when the probe began
  TimePoint next_{};                   // time of the next probe; zero: the lane is not passed over
  Nanos first_rest_;                   // pause before a lane's first probe; longer after each that raised the estimate
};

}  // namespace railweave::protocol

// DrainRate: estimates how long the data that a lane holds will take at the lane's present rate.
// Pure: the caller passes in the time and reports. Threads: one at a time.
#pragma once

#include <cstdint>
#include <optional>

#include "railweave/units.h"
#include "wire/wire.h"

namespace railweave::engine {

class DrainRate {
 public:
  // Call each time the lanes are observed.
  void observe(TimePoint now, const wire::LaneHealth& health);
  // None: the lane is idle, or was not watched for long enough. Nanos::max(): nothing moves.
  std::optional<Nanos> left() const { return left_; }

 private:
  static constexpr Nanos kWindow = std::chrono::milliseconds(300);

  TimePoint since_ = TimePoint::min();  // start of the running window; min(): the lane is idle
  std::uint64_t acknowledged_ = 0;      // bytes, at the start of the window
  std::optional<Nanos> left_;
};

}  // namespace railweave::engine

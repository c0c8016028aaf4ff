// Measures how fast a rail receives: the highest rate of a sample, forgotten slowly. A rate that is forgotten fast
// would follow the senders down, since senders send less because of the rate.
//
// A process that stood still reads the backlog at once, faster than the backlog arrived. So a sample's rate is at most
// the mean rate of this sample and the one before. Pure. Threads: one at a time.
#pragma once

#include <cstdint>

#include "railweave/units.h"

namespace railweave::engine {

class ArrivalRate {
 public:
  static constexpr Nanos kSample = std::chrono::milliseconds(5);
  static constexpr Nanos kHalfLife = std::chrono::seconds(5);
  // longest pause between observations; after a longer one the rate is not known
  static constexpr Nanos kPauseMost = std::chrono::seconds(1);
  static constexpr Rate kRateMost = Rate::from_megabits(400'000);  // bound where the rail's speed is not known

  // `most`: the rail's nominal speed, which bounds rate(); zero: not known.
  explicit ArrivalRate(Rate most) : most_(most > Rate{} ? most : kRateMost) {}

  // `arrived_bytes`: the rail's count until now. A count below the one before begins a new sample.
  void observe(TimePoint now, std::uint64_t arrived_bytes);
  // Begins a new sample at the next observe(), whose count is of another account.
  void begin_sample() { from_ = before_ = {}; }
  // Zero: not known.
  Rate rate() const { return rate_; }

 private:
  const Rate most_;
  Rate rate_;
  TimePoint from_{};                // the sample's begin; TimePoint{}: no sample yet
  std::uint64_t from_bytes_ = 0;    // the rail's count then
  TimePoint before_{};              // begin of the sample before; TimePoint{}: there is none
  std::uint64_t before_bytes_ = 0;  // the rail's count then
};

}  // namespace railweave::engine

// How fast a rail receives: the most that arrived in some milliseconds, forgotten slowly. (Forgotten fast, the measure
// follows the senders down: they send less because of it.) Processes that stood still read what came meanwhile at once,
// faster than it came: so a sample counts for no more than it and the one before together. Pure; one thread at a time.
#pragma once

#include <cstdint>

#include "railweave/units.h"

namespace railweave::engine {

class ArrivalRate {
 public:
  static constexpr Nanos kSample = std::chrono::milliseconds(5);
  static constexpr Nanos kHalfLife = std::chrono::seconds(5);
  // between looks; after a longer one nothing is known of the rail
  static constexpr Nanos kPauseMost = std::chrono::seconds(1);
  static constexpr Rate kRateMost = Rate::from_megabits(400'000);  // where the rail's speed is not known

  // `most`: the rail's nominal speed; zero: not known.
  explicit ArrivalRate(Rate most) : most_(most > Rate{} ? most : kRateMost) {}

  // `arrived_bytes` until now. A count that went back begins anew.
  void poll(TimePoint now, std::uint64_t arrived_bytes);
  // The next look's count has nothing to do with the one before: it is of another account.
  void begin_sample() { from_ = before_ = {}; }
  Rate rate() const { return rate_; }

 private:
  const Rate most_;
  Rate rate_;
  TimePoint from_{};  // the sample's begin; never: none yet
  std::uint64_t from_bytes_ = 0;
  TimePoint before_{};  // where the sample before began; never: there is none
  std::uint64_t before_bytes_ = 0;
};

}  // namespace railweave::engine

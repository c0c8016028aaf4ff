// Clocks. plugin/protocol never includes this: time comes to it as an argument.
#pragma once

#include <time.h>

#include "railweave/units.h"

namespace railweave {

// CLOCK_MONOTONIC, without a system call (vDSO). Any thread.
inline TimePoint now() {
  timespec t;
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return TimePoint(Nanos(std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec));
}

// What a session, its lanes and their health read their time from. Each engine hands one to its sessions, so that
// simulated hosts may differ. Dials, timers and the reactor read now(). Any thread.
class Clock {
 public:
  virtual TimePoint now() const = 0;

 protected:
  ~Clock() = default;
};

// CLOCK_MONOTONIC, as now(). Lives as long as the process.
inline const Clock& monotonic_clock() {
  class MonotonicClock final : public Clock {
   public:
    TimePoint now() const override { return railweave::now(); }
  };
  static constinit const MonotonicClock clock;
  return clock;
}

// TimePoint::max() for what lies beyond it.
inline TimePoint deadline_after(Nanos timeout) {
  const TimePoint start = now();
  return timeout > TimePoint::max() - start ? TimePoint::max() : start + timeout;
}

}  // namespace railweave

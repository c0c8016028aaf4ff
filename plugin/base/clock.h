// Clocks. plugin/protocol never includes this file: its functions take the time as an argument.
#pragma once

#include <time.h>

#include "railweave/units.h"

namespace railweave {

// The time of CLOCK_MONOTONIC, read without a system call (vDSO). Threads: any.
inline TimePoint now() {
  timespec t;
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return TimePoint(Nanos(std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec));
}

// The source of time for a session, its lanes and their health. Each engine gives its sessions a clock, so that
// simulated hosts may have different clocks. Dials, timers and the reactor call the function now(). Threads: any.
class Clock {
 public:
  virtual TimePoint now() const = 0;

 protected:
  ~Clock() = default;
};

// A Clock that reads the function now(). Lives as long as the process.
inline const Clock& monotonic_clock() {
  class MonotonicClock final : public Clock {
   public:
    TimePoint now() const override { return railweave::now(); }
  };
  static constinit const MonotonicClock clock;
  return clock;
}

// Returns now() + timeout, at most TimePoint::max().
inline TimePoint deadline_after(Nanos timeout) {
  const TimePoint start = now();
  return timeout > TimePoint::max() - start ? TimePoint::max() : start + timeout;
}

}  // namespace railweave

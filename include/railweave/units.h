// Types that carry their unit, because a bare integer does not say what it counts.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace railweave {

using Nanos = std::chrono::nanoseconds;

// Clock tag for time points of CLOCK_MONOTONIC or of a simulator's virtual clock: never wall time, never comparable
// across hosts.
struct Monotonic {
  using duration = Nanos;
  using rep = Nanos::rep;
  using period = Nanos::period;
};
using TimePoint = std::chrono::time_point<Monotonic, Nanos>;

// Data rate of payload, in bytes per second.
struct Rate {
  double bytes_per_s = 0;

  static constexpr Rate from_megabits(double megabits) { return Rate{megabits * 1e6 / 8}; }
  static constexpr Rate of(double bytes, Nanos in) {
    return Rate{in.count() > 0 ? bytes * 1e9 / double(in.count()) : 0};
  }
  constexpr double megabits() const { return bytes_per_s * 8 / 1e6; }
  constexpr double bytes_in(Nanos t) const { return bytes_per_s * double(t.count()) / 1e9; }
  // Time to carry `bytes`; one hour at most, also when the rate is zero, so that sums stay finite.
  constexpr Nanos time_for(double bytes) const {
    constexpr double kNever = 3600e9;
    const double ns = bytes_per_s > 0 ? bytes * 1e9 / bytes_per_s : kNever;
    return Nanos(std::int64_t(ns < kNever ? ns : kNever));
  }
  friend constexpr auto operator<=>(Rate, Rate) = default;
};

inline constexpr std::size_t KiB = 1024;
inline constexpr std::size_t MiB = 1024 * KiB;

}  // namespace railweave

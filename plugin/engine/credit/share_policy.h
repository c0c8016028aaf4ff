// How much each sender may have under way to a rail (docs/internals/credit_windows.md, "What the receiver does"). Pure;
// threads: any.
#pragma once

#include <cstdint>

#include "engine/credit/rail_account.h"
#include "railweave/units.h"

namespace railweave::engine {

// that a rail's senders together may queue up in front of it
inline constexpr Nanos kQueueTime = std::chrono::microseconds(400);
// a smaller window is mostly held-back acknowledgements
inline constexpr std::uint64_t kShareLeast = 8 * KiB;
inline constexpr double kQueuesMost = 4;  // times the target, before senders take turns ...
// ... or so much, where that is more: any switch has that for a port
inline constexpr std::uint64_t kBufferLeast = 256 * KiB;
// in which each sender has a turn, as far as kShareLeast allows
inline constexpr Nanos kRound = std::chrono::milliseconds(10);
inline constexpr std::uint64_t kTurnMost = 64 * KiB;
inline constexpr std::uint64_t kAny = ~std::uint64_t{0};

struct Share {
  std::uint64_t window_bytes = kAny;  // kAny: no bound
  int turns = 0;                      // so many senders have a turn at a time; 0: all may send
  std::uint64_t turn_bytes = 0;       // of one turn
  friend bool operator==(const Share&, const Share&) = default;
};

// The share of a sender that has more to send. `rate`: of all that arrives by the rail.
Share share_of_demand(const RailLoad& load, Rate rate, Nanos min_rtt);
// Turn times of a rail where senders take turns: twice, and four times, as long as the longest queue of these turns.
TurnTimes turn_times(const RailLoad& load, Rate rate);
// The window of a sender that has had nothing to send for a while. What all such senders begin with at once fits into a
// switch's buffer.
std::uint64_t idle_window(const RailLoad& load, Rate rate, Nanos min_rtt);

}  // namespace railweave::engine

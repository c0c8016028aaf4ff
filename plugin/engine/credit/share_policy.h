// Decides how much each sender may have under way to a rail (docs/internals/credit_windows.md, "What the receiver
// does"). Pure. Threads: any.
#pragma once

#include <cstdint>

#include "engine/credit/rail_account.h"
#include "railweave/units.h"

namespace railweave::engine {

// length of the queue that all senders together may build up in front of a rail
inline constexpr Nanos kQueueTime = std::chrono::microseconds(400);
// smallest window of a sender with demand; a smaller one is mostly packets whose acknowledgement is held back
inline constexpr std::uint64_t kShareLeast = 8 * KiB;
// Senders take turns where their windows come to more than kQueuesMost targets and more than kBufferLeast, which any
// switch has as buffer of a port.
inline constexpr double kQueuesMost = 4;
inline constexpr std::uint64_t kBufferLeast = 256 * KiB;
// each sender has a turn in so long, as far as kShareLeast allows
inline constexpr Nanos kRound = std::chrono::milliseconds(10);
inline constexpr std::uint64_t kTurnMost = 64 * KiB;      // largest turn
inline constexpr std::uint64_t kAny = ~std::uint64_t{0};  // no bound

struct Share {
  std::uint64_t window_bytes = kAny;
  int turns = 0;                 // how many senders have a turn at a time; 0: all may send
  std::uint64_t turn_bytes = 0;  // bytes that the peer may send in one turn
  friend bool operator==(const Share&, const Share&) = default;
};

// Returns the share of a sender that has more to send. `rate`: of all arrivals of the rail. `min_rtt`: the lane's
// shortest round trip.
Share share_of_demand(const RailLoad& load, Rate rate, Nanos min_rtt);
// Returns the turn times of a rail where senders take turns: twice, and four times, the longest queue of these turns.
TurnTimes turn_times(const RailLoad& load, Rate rate);
// Returns the window of a sender that has had nothing to send for a while; kAny: no window. The windows of all such
// senders together fit into a switch's buffer.
std::uint64_t idle_window(const RailLoad& load, Rate rate, Nanos min_rtt);

}  // namespace railweave::engine

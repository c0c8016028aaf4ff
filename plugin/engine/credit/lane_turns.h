// One lane's turns on its rail (docs/internals/credit_windows.md, "Whose turn it is"): when a turn begins, when the
// turn is over, and how far the peer may send meanwhile. Pure, except for the lane's place in the rail's account.
//
// Threads: under the lane's claim.
#pragma once

#include <cstdint>

#include "engine/credit/rail_account.h"
#include "engine/credit/share_policy.h"
#include "railweave/units.h"

namespace railweave::engine {

class LaneTurns {
 public:
  static constexpr Nanos kPoll = std::chrono::milliseconds(1);        // between polls of a lane that waits for its turn
  static constexpr Nanos kWaitMost = std::chrono::milliseconds(100);  // a lane that waits longer takes a turn
  // how many more turns a lane may have had than the waiting lane with the fewest
  static constexpr std::int32_t kAheadMost = 1;
  // turns held at a time, stalled ones included: at most so many times Share::turns
  static constexpr int kStalledMost = 4;

  // `place` outlives this object.
  explicit LaneTurns(AccountPlace& place) : place_(place) {}

  // The lane has demand from now on, or was away: sets its count of turns to that of the others. REQUIRES: the place
  // shows neither demand nor a turn, and `load` was read since.
  void join(const RailLoad& load);
  // Gives up turn and wait. Call when no lane takes turns, or when this lane has no demand.
  void leave();
  // Call when a segment came.
  void use(TimePoint now);
  // Returns the position that the peer may reach. `position`: of the arrivals; `limit`: the result until now.
  std::uint64_t poll(TimePoint now, RailLoad load, const Share& share, const TurnTimes& times, std::uint64_t position,
                     std::uint64_t limit);
  // When poll() must be called again though nothing arrives.
  TimePoint due(TimePoint now) const { return place_.has_turn() ? used_at_ + times_.unused : now + kPoll; }

 private:
  bool may_begin(TimePoint now, const RailLoad& load, const Share& share);
  bool is_over(TimePoint now, const Share& share, std::uint64_t left) const;

  AccountPlace& place_;
  TurnTimes times_;
  TimePoint used_at_{};      // when the turn began, or a segment came last
  TimePoint waits_since_{};  // for a turn; TimePoint{}: the lane does not wait
};

}  // namespace railweave::engine

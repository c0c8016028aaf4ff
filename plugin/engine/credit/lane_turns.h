// One lane's turns on its rail (docs/internals/credit_windows.md, "Whose turn it is"): when a turn begins, when the
// turn is over, and how far the peer may send meanwhile. Pure but for the lane's place in the rail's account. Under the
// lane's claim.
#pragma once

#include <cstdint>

#include "engine/credit/rail_account.h"
#include "engine/credit/share_policy.h"
#include "railweave/units.h"

namespace railweave::engine {

class LaneTurns {
 public:
  static constexpr Nanos kPoll = std::chrono::milliseconds(1);        // between looks of a lane that waits for its turn
  static constexpr Nanos kWaitMost = std::chrono::milliseconds(100);  // for a turn
  // turns that a lane may have had more than the waiting lane that had the fewest
  static constexpr std::int32_t kAheadMost = 1;
  // times the turns at a time may begin, where the other turns stand still
  static constexpr int kStalledMost = 4;

  // `place` outlives this.
  explicit LaneTurns(AccountPlace& place) : place_(place) {}

  // The lane has demand from now on, or was away: counts as having had as many turns as the others. REQUIRES: the place
  // says that the lane has neither demand nor a turn, and `load` was read since.
  void join(const RailLoad& load);
  // Nobody takes turns, or the lane has no demand.
  void leave();
  // A segment came.
  void use(TimePoint now);
  // The position that the peer may reach; `limit`: as it was until now.
  std::uint64_t poll(TimePoint now, RailLoad load, const Share& share, const TurnTimes& times, std::uint64_t position,
                     std::uint64_t limit);
  // When poll() should be called again though nothing comes.
  TimePoint due(TimePoint now) const { return place_.has_turn() ? used_at_ + times_.unused : now + kPoll; }

 private:
  bool may_begin(TimePoint now, const RailLoad& load, const Share& share);
  bool is_over(TimePoint now, const Share& share, std::uint64_t left) const;

  AccountPlace& place_;
  TurnTimes times_;
  TimePoint used_at_{};      // when the turn began, or a segment came last
  TimePoint waits_since_{};  // for a turn; never: does not wait
};

}  // namespace railweave::engine

#include "engine/credit/lane_turns.h"

#include <algorithm>

namespace railweave::engine {

// With fewer turns than the others, this lane would keep the others waiting until this lane has caught up. Where no
// lane waits, the new count is kAheadMost below the most turns of a lane. With that highest count, lanes that begin one
// after the other would each be one ahead of the lane before.
void LaneTurns::join(const RailLoad& load) {
  if (!load.any_waits && load.turns_held == 0) return;
  const std::uint32_t others = load.any_waits ? load.fewest_turns : load.most_turns - kAheadMost;
  place_.set_turns(others + std::uint32_t(std::clamp(std::int32_t(place_.turns() - others), 0, kAheadMost)));
}

void LaneTurns::leave() {
  if (place_.has_turn()) place_.set_turn(false);
  waits_since_ = {};
}

void LaneTurns::use(TimePoint now) {
  used_at_ = now;
  if (place_.has_turn()) place_.use_turn(now);
}

std::uint64_t LaneTurns::poll(TimePoint now, RailLoad load, const Share& share, const TurnTimes& times,
                              std::uint64_t position, std::uint64_t limit) {
  times_ = times;
  if (place_.has_turn() && is_over(now, share, limit - position)) {
    if (now <= used_at_ + times.stalled) --load.turns;
    --load.turns_held;
    place_.set_turn(false);
  }
  if (place_.has_turn() || !may_begin(now, load, share)) return limit;
  waits_since_ = {};
  used_at_ = now;  // the peer's time to use the turn begins
  place_.set_turns(place_.turns() + 1);
  place_.use_turn(now);
  place_.set_turn(true);
  return std::max(limit, position + share.turn_bytes);
}

// A turn is over when one window (or half of a turn smaller than two windows) is left, so that the next turn begins
// while these bytes arrive. `left`: bytes up to the limit.
bool LaneTurns::is_over(TimePoint now, const Share& share, std::uint64_t left) const {
  return left <= std::min(kShareLeast, share.turn_bytes / 2) || now >= used_at_ + times_.unused;
}

// A lane that waited for kWaitMost takes a turn whatever the account says: another process may have written anything
// into the account. The lane then takes over the others' count of turns: lanes may have begun at a count of their own
// while the other processes stood still.
bool LaneTurns::may_begin(TimePoint now, const RailLoad& load, const Share& share) {
  if (waits_since_ == TimePoint{}) waits_since_ = now;
  if (now >= waits_since_ + kWaitMost) {
    if (load.any_waits) place_.set_turns(load.fewest_turns);
    return true;
  }
  if (load.turns >= share.turns || load.turns_held >= kStalledMost * share.turns) return false;
  return !load.any_waits || std::int32_t(place_.turns() - load.fewest_turns) <= kAheadMost;
}

}  // namespace railweave::engine

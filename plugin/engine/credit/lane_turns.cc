#include "engine/credit/lane_turns.h"

#include <algorithm>

namespace railweave::engine {

// At fewer turns than the others this lane would keep the others waiting until it has caught up. Where no lane waits,
// the lane with the most turns is ahead of the others: lanes that began one after the other at that count would each be
// one ahead of the lane before.
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
  used_at_ = now;  // the peer has its time from here on
  place_.set_turns(place_.turns() + 1);
  place_.use_turn(now);
  place_.set_turn(true);
  return std::max(limit, position + share.turn_bytes);
}

// While a window of a turn is left, or half of a small turn: the next turn begins while those bytes arrive.
bool LaneTurns::is_over(TimePoint now, const Share& share, std::uint64_t left) const {
  return left <= std::min(kShareLeast, share.turn_bytes / 2) || now >= used_at_ + times_.unused;
}

// A lane that waited long enough takes a turn whatever the account says: another process may have written anything
// there. The lane counts its turns from the others' from then on: while their processes stood still, lanes may have
// begun at a count of their own.
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

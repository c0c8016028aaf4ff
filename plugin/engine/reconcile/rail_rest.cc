#include "engine/reconcile/rail_rest.h"

#include <algorithm>
#include <utility>

namespace railweave::engine {

void RailRest::see(int lanes, TimePoint t) {
  const int before = std::exchange(lanes_, lanes);
  if (before > 0 || lanes == 0) return;
  carried_ = true;
  up_since_ = t;
  for (BackOff* rest : {&back_off_, &losses_}) {
    rest->came_up();
    rest->end();
  }
}

void RailRest::lost(TimePoint t, bool too_slow, const BackOff::Chance& chance) {
  t - up_since_ >= BackOff::kSteady ? forgive() : void(flaps_ = true);
  if (++bad_in_a_row_ < kSuspectFrom) return;
  back_off_.lost(t, up_since_, too_slow, chance, true);
  losses_.lost(t, up_since_, too_slow, chance, true);
}

void RailRest::failed(TimePoint t, const BackOff::Chance& chance) {
  if (++bad_in_a_row_ >= kSuspectFrom) back_off_.failed(t, carried_, chance);
}

void RailRest::forgive() {
  bad_in_a_row_ = 0;
  flaps_ = false;
  back_off_ = losses_ = {};
}

TimePoint RailRest::next_change(TimePoint t) const {
  if (is_on_trial(t)) return up_since_ + kTrial;
  TimePoint first = TimePoint::max();
  for (const BackOff& rest : {back_off_, losses_})
    if (!has_lanes() && rest.rests(t)) first = std::min(first, rest.until());
  return first;
}

}  // namespace railweave::engine

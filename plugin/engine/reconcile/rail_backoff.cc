#include "engine/reconcile/rail_backoff.h"

#include <algorithm>
#include <utility>

namespace railweave::engine {

void RailBackoff::see(int lanes, TimePoint t) {
  const int before = std::exchange(lanes_, lanes);
  if (before > 0 || lanes == 0) return;
  carried_ = true;
  up_since_ = t;
  for (Backoff* rest : {&backoff_, &losses_}) {
    rest->came_up();
    rest->end();
  }
}

void RailBackoff::lost(TimePoint t, bool too_slow, const Backoff::Jitter& jitter) {
  t - up_since_ >= Backoff::kSteady ? forgive() : void(flaps_ = true);
  if (++bad_in_a_row_ < kSuspectFrom) return;
  backoff_.lost(t, up_since_, too_slow, jitter, true);
  losses_.lost(t, up_since_, too_slow, jitter, true);
}

void RailBackoff::failed(TimePoint t, const Backoff::Jitter& jitter) {
  if (++bad_in_a_row_ >= kSuspectFrom) backoff_.failed(t, carried_, jitter);
}

void RailBackoff::forgive() {
  bad_in_a_row_ = 0;
  flaps_ = false;
  backoff_ = losses_ = {};
}

TimePoint RailBackoff::next_change(TimePoint t) const {
  if (is_on_trial(t)) return up_since_ + kTrial;
  TimePoint first = TimePoint::max();
  for (const Backoff& rest : {backoff_, losses_})
    if (!has_lanes() && rest.is_on(t)) first = std::min(first, rest.until());
  return first;
}

}  // namespace railweave::engine

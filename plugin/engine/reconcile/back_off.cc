#include "engine/reconcile/back_off.h"

namespace railweave::engine {

void BackOff::lost(TimePoint t, TimePoint up_since, bool too_slow, const Chance& chance, bool again) {
  if (rests(t)) return;
  const Nanos lived = t - up_since;
  if (lived >= kSteady) last_ = Nanos{0};
  const bool just_back = (again || last_ > Nanos{0}) && lived < kJustBack;
  if (too_slow) last_ = std::max(last_, (just_back ? kSlowBack : kSlow) / 2);  // is doubled
  begin(t, kMostFlapping, chance);
  at_loss_ = last_;
}

void BackOff::failed(TimePoint t, bool carried, const Chance& chance) {
  if (!rests(t)) begin(t, carried ? kMostRefused : kMostFlapping, chance);
}

void BackOff::begin(TimePoint t, Nanos most, const Chance& chance) {
  last_ = std::min(last_ == Nanos{0} ? kLeast : 2 * last_, most);
  until_ = t + last_ + last_ * chance() / 1024;
}

}  // namespace railweave::engine

#include "engine/reconcile/backoff.h"

namespace railweave::engine {

void Backoff::lost(TimePoint t, TimePoint up_since, bool too_slow, const Jitter& jitter, bool again) {
  if (is_on(t)) return;
  const Nanos lived = t - up_since;
  if (lived >= kSteady) last_ = Nanos{0};
  const bool just_back = (again || last_ > Nanos{0}) && lived < kJustBack;
  if (too_slow) last_ = std::max(last_, (just_back ? kSlowBack : kSlow) / 2);  // begin() doubles it
  begin(t, kMostFlapping, jitter);
  at_loss_ = last_;
}

void Backoff::failed(TimePoint t, bool carried, const Jitter& jitter) {
  if (!is_on(t)) begin(t, carried ? kMostRefused : kMostFlapping, jitter);
}

void Backoff::begin(TimePoint t, Nanos most, const Jitter& jitter) {
  last_ = std::min(last_ == Nanos{0} ? kLeast : 2 * last_, most);
  until_ = t + last_ + last_ * jitter() / 1024;
}

}  // namespace railweave::engine

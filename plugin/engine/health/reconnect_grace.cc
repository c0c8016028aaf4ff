#include "engine/health/reconnect_grace.h"

#include <algorithm>

namespace railweave::engine {

void ReconnectGrace::lane_reset(TimePoint now, std::uint64_t segments) {
  if (segments == segments_then_ && now < back_at_ + kLived) return;
  segments_then_ = segments;
  extend(now);
}

bool ReconnectGrace::last_lane_lost(TimePoint now, bool unanswered, bool leaving, const Status& loss) {
  // The kernel may end a lane before the peer timeout, because packets that its own queues dropped count as tries, too.
  const bool too_soon = unanswered && !leaving && now < patient_until_;
  // No silence was noticed, so no lane was dialled yet. A firewall that forgot its connections lets a new one through.
  if (unanswered && !leaving && patient_until_ == TimePoint::min()) until_ = std::max(until_, now + kOneDial);
  if (joins_ == 0 && (leaving || (!too_soon && now >= until_))) return false;
  loss_ = loss;
  lost_at_ = now;
  if (leaving) until_ = now;
  if (too_soon) until_ = patient_until_;
  over_at_ = too_soon ? patient_until_ : now + peer_timeout_;
  return true;
}

Status ReconnectGrace::over(TimePoint now) const {
  if (now < over_at_ && (joins_ > 0 || now < until_)) return {};
  return loss_;
}

}  // namespace railweave::engine

#include "engine/health/drain_rate.h"

namespace railweave::engine {

void DrainRate::observe(TimePoint now, const wire::LaneHealth& health) {
  if (health.outstanding_bytes == 0) {
    since_ = TimePoint::min();
    left_.reset();
    return;
  }
  if (since_ != TimePoint::min() && now - since_ < kWindow) return;
  if (since_ != TimePoint::min()) {
    const std::uint64_t moved = health.acknowledged_bytes - acknowledged_;
    left_ =
        moved == 0 ? Nanos::max() : Rate::of(double(moved), now - since_).time_for(double(health.outstanding_bytes));
  }
  since_ = now;
  acknowledged_ = health.acknowledged_bytes;
}

}  // namespace railweave::engine

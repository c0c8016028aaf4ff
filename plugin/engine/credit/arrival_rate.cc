#include "engine/credit/arrival_rate.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace railweave::engine {

void ArrivalRate::observe(TimePoint now, std::uint64_t arrived_bytes) {
  if (from_ == TimePoint{} || arrived_bytes < from_bytes_) {
    from_ = now;
    from_bytes_ = arrived_bytes;
    before_ = {};
  }
  if (now > from_ + kPauseMost) {
    rate_ = {};
    begin_sample();
    return observe(now, arrived_bytes);
  }
  if (now < from_ + kSample) return;
  Rate seen = Rate::of(double(arrived_bytes - from_bytes_), now - from_);
  if (before_ != TimePoint{}) seen = std::min(seen, Rate::of(double(arrived_bytes - before_bytes_), now - before_));
  rate_.bytes_per_s *= std::exp2(-double((now - from_).count()) / double(kHalfLife.count()));
  rate_ = std::max(rate_, seen);
  rate_ = std::min(rate_, most_);
  before_ = std::exchange(from_, now);
  before_bytes_ = std::exchange(from_bytes_, arrived_bytes);
}

}  // namespace railweave::engine

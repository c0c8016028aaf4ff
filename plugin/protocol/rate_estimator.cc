#include "protocol/rate_estimator.h"

#include <algorithm>
#include <cmath>

namespace railweave::protocol {
namespace {

using namespace std::chrono_literals;

constexpr Nanos kSampleMin = 1ms;     // shorter ones mostly measure how acknowledgements bunch
constexpr Nanos kMemory = 8ms;        // time constant of the moving average
constexpr Nanos kIdleStep = 50ms;     // an idle lane's estimate grows by half in each of these
constexpr double kIdleGrowth = 1.5;
constexpr std::uint64_t kBurstBytesMin = 32 * 1024;

}  // namespace

void RateEstimator::observe(TimePoint now, std::uint64_t acknowledged_bytes, std::uint64_t outstanding_bytes) {
  const bool was_busy = busy_;
  busy_ = outstanding_bytes > 0;
  if (!was_busy) {
    since_ = now;
    acknowledged_at_start_ = acknowledged_bytes;
    return;
  }
  const Nanos over = now - since_;
  const std::uint64_t bytes = acknowledged_bytes - acknowledged_at_start_;
  if (!busy_) {
    idle_since_ = now;
    if (bytes >= kBurstBytesMin) sample(Rate::of(double(bytes), over), over, over >= kSampleMin);
    return;
  }
  if (over < kSampleMin) return;
  sample(Rate::of(double(bytes), over), over, true);
  since_ = now;
  acknowledged_at_start_ = acknowledged_bytes;
}

void RateEstimator::sample(Rate seen, Nanos over, bool may_lower) {
  fastest_ = std::max(fastest_, seen);
  if (!known_) {
    if (seen.bytes_per_s <= 0) return;
    known_ = true;
    rate_ = seen;
    return;
  }
  if (seen < rate_ && !may_lower) return;
  const double weight = 1 - std::exp(-double(over.count()) / double(kMemory.count()));
  rate_.bytes_per_s += weight * (seen.bytes_per_s - rate_.bytes_per_s);
}

void RateEstimator::age(TimePoint now) {
  if (busy_ || !known_ || now - idle_since_ < kIdleStep) return;
  idle_since_ = now;
  rate_.bytes_per_s = std::min(rate_.bytes_per_s * kIdleGrowth, fastest_.bytes_per_s);
}

}  // namespace railweave::protocol

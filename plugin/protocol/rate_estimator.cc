#include "protocol/rate_estimator.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace railweave::protocol {
namespace {

using namespace std::chrono_literals;

constexpr Nanos kSampleMin = 1ms;     // shorter ones mostly measure how acknowledgements bunch
constexpr Nanos kMemory = 8ms;        // time constant of the moving average
constexpr Nanos kIdleStep = 50ms;     // an idle lane's estimate grows by half in each of these
constexpr double kIdleGrowth = 1.5;
constexpr std::uint64_t kBurstBytesMin = 32 * 1024;
constexpr double kBytesPerSecondMin = 16 * 1024;  // of an estimate: from zero none would ever grow

}  // namespace

void RateEstimator::observe(TimePoint now, std::uint64_t acknowledged_bytes, std::uint64_t outstanding_bytes) {
  const bool was_busy = busy_;
  busy_ = outstanding_bytes > 0;
  // All that the last look saw outstanding is through: it may have been idle since, and its rate would be the caller's.
  const bool paused = busy_ && acknowledged_bytes >= handed_;
  handed_ = acknowledged_bytes + outstanding_bytes;
  if (!was_busy || paused) {
    since_ = seen_ = now;
    acknowledged_at_start_ = acknowledged_bytes;
    return;
  }
  const Nanos over = now - since_, unseen = now - std::exchange(seen_, now);
  const std::uint64_t bytes = acknowledged_bytes - acknowledged_at_start_;
  if (!busy_) {
    idle_since_ = now;
    // It may have been idle since the look before: so long a time makes a lane look slower than it is.
    if (bytes >= kBurstBytesMin) sample(Rate::of(double(bytes), over), over, over >= kSampleMin && unseen <= over / 4);
    return;
  }
  if (over < kSampleMin) return;
  sample(Rate::of(double(bytes), over), over, true);
  since_ = now;
  acknowledged_at_start_ = acknowledged_bytes;
}

void RateEstimator::sample(Rate seen, Nanos over, bool may_lower) {
  const bool sound = over >= kSampleMin;
  // A shaper's bucket or an empty queue takes a short burst at any speed: it says nothing of what follows.
  if (!sound && sound_) seen = std::min(seen, fastest_);
  if (seen.bytes_per_s > 0 && (!known_ || (sound && !sound_ && may_lower))) {
    known_ = true;
    sound_ |= sound;
    rate_ = fastest_ = seen;
    return;
  }
  if (!known_) return;
  fastest_ = std::max(fastest_, seen);
  if (seen < rate_ && !may_lower) return;
  const double weight = 1 - std::exp(-double(over.count()) / double(kMemory.count()));
  rate_.bytes_per_s = std::max(rate_.bytes_per_s + weight * (seen.bytes_per_s - rate_.bytes_per_s), kBytesPerSecondMin);
}

void RateEstimator::age(TimePoint now) {
  if (busy_ || !known_) return;
  const auto steps = (now - idle_since_) / kIdleStep;
  if (steps == 0) return;
  idle_since_ += steps * kIdleStep;
  rate_.bytes_per_s = std::min(rate_.bytes_per_s * std::pow(kIdleGrowth, double(steps)), fastest_.bytes_per_s);
}

}  // namespace railweave::protocol

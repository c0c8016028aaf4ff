#include "protocol/rate_estimator.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace railweave::protocol {
namespace {

using namespace std::chrono_literals;

// outstanding; a lane believed slow never has more than two segments
constexpr std::uint64_t kBusyBytes = 8 * KiB;
constexpr std::uint64_t kTeachingBytes = 32 * KiB;  // more than one delayed acknowledgement may cover
constexpr Nanos kSampleMin = 1ms;
constexpr Nanos kSilence = 20ms;  // a busy lane without an acknowledgement for so long carries nothing
// Time constants of the moving average. Upwards is quicker, because a lane that looks slow gets little data to prove
// otherwise.
constexpr Nanos kMemoryUp = 2ms, kMemoryDown = 8ms;
constexpr Nanos kWindow = 20ms;
constexpr std::uint64_t kWindowBytesMin = 256 * KiB;  // a shaper's bucket, full at first, is a small part of it
constexpr Nanos kIdleStep = 50ms;                     // an idle lane's estimate grows by half in each of these
constexpr double kIdleGrowth = 1.5;
constexpr Rate kUnheard = Rate::from_megabits(100'000);  // limit of a lane without estimate; the first sample decides
constexpr double kBytesPerSecondMin = 16 * 1024;         // of an estimate: from zero none would ever grow

double weight_of(Nanos over, Nanos memory) { return 1 - std::exp(-double(over.count()) / double(memory.count())); }

}  // namespace

void RateEstimator::begin(TimePoint now, bool at_acknowledgement) {
  since_ = now;
  since_acknowledgement_ = at_acknowledgement;
  acknowledged_at_start_ = acknowledged_;
  handed_at_start_ = handed_;
}

bool RateEstimator::observe(TimePoint now, std::uint64_t acknowledged_bytes, std::uint64_t outstanding_bytes) {
  const bool was_busy = std::exchange(busy_, outstanding_bytes >= kBusyBytes);
  // All that was outstanding at the last observe() is acknowledged: the lane may have been idle since. A sample would
  // then measure the caller's rate.
  const bool paused = busy_ && acknowledged_bytes >= handed_;
  const bool progress = acknowledged_bytes > std::exchange(acknowledged_, acknowledged_bytes);
  handed_ = acknowledged_bytes + outstanding_bytes;
  review_window(now);
  if (!was_busy || paused || since_ == TimePoint{}) {
    begin(now, false);
    return false;
  }

  const Nanos over = now - since_;
  const std::uint64_t bytes = acknowledged_bytes - acknowledged_at_start_;
  const Rate seen = Rate::of(double(bytes), over);
  if (!busy_) {
    idle_since_ = now;
    if (bytes >= kTeachingBytes) burst(seen, over);
    begin(now, false);
    return false;
  }
  bool sampled = false;
  const bool whole = progress && since_acknowledgement_;
  if (over >= kSilence && (whole || outstanding_bytes >= kTeachingBytes))
    silence(seen, over);
  else if (whole && over >= kSampleMin)
    sampled = sample(seen, over);
  else if (!progress || since_acknowledgement_)
    return false;
  begin(now, progress);
  return sampled;
}

// A lane believed slow gets so little that each observe() finds all of it acknowledged. No sample ends then, and bursts
// prove nothing. But the lane's rate is at least what it carried in the window.
void RateEstimator::review_window(TimePoint now) {
  const Nanos over = now - window_since_;
  if (over < kWindow) return;
  const std::uint64_t bytes = acknowledged_ - acknowledged_at_window_;
  if (known_ && bytes >= kWindowBytesMin) rate_ = std::max(rate_, Rate::of(double(bytes), over));
  window_since_ = now;
  acknowledged_at_window_ = acknowledged_;
}

// A late observe() finds all bytes acknowledged. The lane was busy all the same, if they were enough for a sample.
void RateEstimator::handed(std::uint64_t bytes) {
  handed_ += bytes;
  busy_ = busy_ || handed_ - acknowledged_ >= kTeachingBytes;
}

// If the bytes are enough for a sample, the next observe() finds how long they took.
void RateEstimator::drained() {
  if (handed_ - acknowledged_ >= kTeachingBytes) return;
  acknowledged_ = handed_;
  busy_ = false;
}

// The burst may have ended long before this observe(), and began a round trip before its first acknowledgement. So the
// lane was no slower than `seen`. A shaper's bucket or an empty queue takes a short burst at any speed: `seen` says
// nothing of later bytes.
void RateEstimator::burst(Rate seen, Nanos over) {
  if (!known_) {
    known_ = true;
    rate_ = seen;
  }
  if (sampled_ > 0ns) seen = std::min(seen, fastest_);
  if (seen > rate_) move(seen, weight_of(over, kMemoryUp));
}

// The peer or its kernel stands still, or observe() was not called for long. The silence is true of this moment, and no
// measure of the lane.
void RateEstimator::silence(Rate seen, Nanos over) {
  if (carried_all(seen)) return;
  before_lowered_ = std::max(before_lowered_, known_ ? rate_ : kUnheard);
  known_ = true;
  move(seen, weight_of(over, kMemoryDown));
}

// All bytes that the lane had at the sample's start are acknowledged: the lane may have carried as much as it got.
bool RateEstimator::carried_all(Rate seen) const { return known_ && seen < rate_ && acknowledged_ >= handed_at_start_; }

void RateEstimator::move(Rate seen, double weight) {
  rate_.bytes_per_s = std::max(rate_.bytes_per_s + weight * (seen.bytes_per_s - rate_.bytes_per_s), kBytesPerSecondMin);
}

bool RateEstimator::sample(Rate seen, Nanos over) {
  if (carried_all(seen)) return false;
  known_ = true;
  sampled_ += over;
  // The first samples weigh by their length alone; the very first one replaces the estimate by bursts.
  move(seen, std::max(weight_of(over, seen > rate_ ? kMemoryUp : kMemoryDown),
                      double(over.count()) / double(sampled_.count())));
  fastest_ = std::max(fastest_, rate_);
  return true;
}

void RateEstimator::no_faster(Rate most, Nanos over) {
  if (!known_ || most >= rate_) return;
  if (sampled_ == 0ns) before_lowered_ = std::max(before_lowered_, rate_);
  move(most, weight_of(over, kMemoryDown));
}

void RateEstimator::age(TimePoint now, bool grow) {
  if (busy_ || !known_) return;
  const auto steps = (now - idle_since_) / kIdleStep;
  if (steps == 0) return;
  idle_since_ += steps * kIdleStep;
  if (!grow) return;
  // Bursts alone set no limit: their estimate may be far too high already.
  const Rate most = sampled_ > 0ns ? fastest_ : before_lowered_;
  const double grown = rate_.bytes_per_s * std::pow(kIdleGrowth, double(steps));
  rate_.bytes_per_s = std::max(rate_.bytes_per_s, std::min(grown, most.bytes_per_s));
}

}  // namespace railweave::protocol

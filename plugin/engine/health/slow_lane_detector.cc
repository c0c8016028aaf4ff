#include "engine/health/slow_lane_detector.h"

#include <algorithm>
#include <utility>

namespace railweave::engine {
namespace {

// True: at its present rate the lane needs kLeast or more, and kTimes as long as the other lanes would at rate
// `others`.
bool holds_up(const LaneDrain& lane, Rate others) {
  if (!lane.left || *lane.left < SlowLaneDetector::kLeast || others.bytes_per_s <= 0) return false;
  return *lane.left / SlowLaneDetector::kTimes >= others.time_for(double(lane.outstanding_bytes));
}

// `sure`: how long a lane has been suspected while the peer answered without a pause; negative: the peer does not
// answer.
bool needs_time(const LaneDrain& lane, Nanos sure) {
  return sure < SlowLaneDetector::kSure || (lane.late_for > Nanos{0} && lane.late_for < SlowLaneDetector::kLateMost);
}

Nanos left_of(const LaneDrain& lane) { return lane.left.value_or(Nanos{0}); }

}  // namespace

SlowLaneDetector::Verdict SlowLaneDetector::observe(TimePoint now, const std::vector<std::optional<LaneDrain>>& lanes,
                                                    std::uint64_t consumed) {
  const bool answered = std::exchange(consumed_, consumed) != consumed;
  Rate all;
  std::optional<int> best;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    if (!lanes[i] || !lanes[i]->works) continue;
    all.bytes_per_s += lanes[i]->believed.bytes_per_s;
    if (!best || left_of(*lanes[i]) < left_of(*lanes[std::size_t(*best)])) best = int(i);
  }
  Verdict verdict;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    if (!lanes[i] || !lanes[i]->works || int(i) == *best) continue;
    if (holds_up(*lanes[i], Rate{all.bytes_per_s - lanes[i]->believed.bytes_per_s})) verdict.given_up.push_back(int(i));
  }
  if (verdict.given_up.empty()) {
    answers_since_.reset();
    return verdict;
  }
  // A pause points to the peer, not to the lane. The time begins anew with the next answer of the peer.
  if (!answered && now - answered_at_ > kAnswerMost) answers_since_.reset();
  if (answered) {
    answered_at_ = now;
    if (!answers_since_) answers_since_ = now;
  }
  const Nanos sure = answers_since_ ? now - *answers_since_ : Nanos{-1};
  std::erase_if(verdict.given_up, [&](int i) { return needs_time(*lanes[std::size_t(i)], sure); });
  if (verdict.given_up.empty()) {
    verdict.probe_lane = best;
  } else {
    answers_since_.reset();
  }
  return verdict;
}

}  // namespace railweave::engine

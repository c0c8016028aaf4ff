#include "collectives/scheduler/repeat_finder.h"

#include <algorithm>

namespace railweave::collectives {
namespace {

// Caps a run above what any period needs (2 * kPeriodMost, kRepeatLeast), so that the counter does not overflow.
constexpr std::uint32_t kRunMost = 4 * RepeatFinder::kPeriodMost;

}  // namespace

RepeatFinder::Event RepeatFinder::add(std::uint64_t what) {
  if (history_.empty()) {
    history_.resize(kPeriodMost);
    runs_.resize(kPeriodMost + 1);
  }
  const bool breaks = period_ > 0 && what != before(period_);
  if (breaks) period_ = 0;
  const bool seeks = period_ == 0;
  const std::size_t known = std::min(count_, kPeriodMost);
  for (std::size_t p = 1; p <= known; ++p) {
    runs_[p] = what == before(p) ? std::min(runs_[p] + 1, kRunMost) : 0;
    if (period_ == 0 && runs_[p] >= std::max(2 * p, kRepeatLeast)) period_ = p;
  }
  history_[count_++ % kPeriodMost] = what;
  if (breaks) return Event::broken;
  return seeks && period_ > 0 ? Event::found : Event::none;
}

std::vector<std::uint64_t> RepeatFinder::cycle() const {
  std::vector<std::uint64_t> entries;
  for (std::size_t back = period_; back > 0; --back) entries.push_back(before(back));
  return entries;
}

}  // namespace railweave::collectives

// When a sequence repeats (docs/internals/scheduler.md, "auto").
//
// Threads: one at a time. Costs a comparison with each of the last kPeriodMost entries for every one, and 48 KiB from
// the first on.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace railweave::collectives {

class RepeatFinder {
 public:
  static constexpr std::size_t kPeriodMost = 4096;
  static constexpr std::size_t kRepeatLeast = 256;  // start

  enum class Event { none, found, broken };

  // One more. found: with it the sequence has a period. broken: it is not what the period said; another one may hold at
  // once.
  Event add(std::uint64_t what);
  // 0: none. The smallest for which the last entries, twice as many and kRepeatLeast at least, were what came that much
  // before them; it stays until it breaks. Layers that are alike repeat within a step, too: where that was taken for
  // the step, it breaks with the layers' end, and the step's own period is found once that has held.
  std::size_t period() const { return period_; }
  // The last period() entries, the oldest first.
  std::vector<std::uint64_t> cycle() const;

 private:
  std::uint64_t before(std::size_t entries) const {
    assert(entries > 0 && entries <= count_ && entries <= kPeriodMost);
    return history_[(count_ - entries) % kPeriodMost];
  }

  std::vector<std::uint64_t> history_;  // of the last kPeriodMost, by number modulo it
  std::vector<std::uint32_t> runs_;     // by period: so many entries in a row were what came that much before them
  std::size_t count_ = 0;
  std::size_t period_ = 0;
};

}  // namespace railweave::collectives

// Detects when a sequence of operations repeats (docs/internals/scheduler.md, "auto").
//
// Threads: one at a time. Cost: each entry is compared with each of the last kPeriodMost entries; 48 KiB of memory from
// the first entry on.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace railweave::collectives {

class RepeatFinder {
 public:
  static constexpr std::size_t kPeriodMost = 4096;
  static constexpr std::size_t kRepeatLeast = 256;  // a starting point, to be measured

  enum class Event { none, found, broken };

  // Appends an entry. found: the sequence has a period now. broken: the entry differs from the one that the period
  // predicts. After broken, another period may already hold.
  Event add(std::uint64_t what);
  // The period in entries; 0: none. It is the smallest one with which the last entries agree, over twice the period and
  // kRepeatLeast entries at least. A period stays until it breaks. Similar layers repeat within a step, too: their
  // period breaks where the layers end, and the step's own period is found once it has held.
  std::size_t period() const { return period_; }
  // Returns the last period() entries, the oldest first.
  std::vector<std::uint64_t> cycle() const;

 private:
  std::uint64_t before(std::size_t entries) const {
    assert(entries > 0 && entries <= count_ && entries <= kPeriodMost);
    return history_[(count_ - entries) % kPeriodMost];
  }

  std::vector<std::uint64_t> history_;  // the last kPeriodMost entries, by number modulo kPeriodMost
  std::vector<std::uint32_t> runs_;     // by period: how many entries in a row agreed with it
  std::size_t count_ = 0;
  std::size_t period_ = 0;
};

}  // namespace railweave::collectives

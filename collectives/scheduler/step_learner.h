// What `auto` learns of one group's steps, and what it changes when (docs/internals/scheduler.md has the table of
// steps).
//
// A state machine: no clock, no thread, no I/O. Threads: one at a time. All that it answers is a function of the
// sequence of operations, the same on every rank, but for the values in an Agreement before the ranks have agreed on
// it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "collectives/scheduler/repeat_finder.h"
#include "collectives/scheduler/scheduler.h"
#include "collectives/scheduler/window.h"
#include "railweave/units.h"

namespace railweave::collectives {

// A way to order a step's operations.
struct Candidate {
  Window window;
  bool by_leads = false;  // keys from what was learned, not from classes
};
inline constexpr Window kTriedWindow{.operations = 2};
inline constexpr std::array<Candidate, 3> kCandidates{
    {{}, {.window = kTriedWindow}, {.window = kTriedWindow, .by_leads = true}}};
inline constexpr std::array<const char*, kCandidates.size()> kCandidateNames{"off", "window:2",
                                                                             "window:2 with learned leads"};
// The shortest, if by more than kGainLeast of the first (off), else that one. Times in any unit, by candidate.
inline constexpr double kGainLeast = 0.005;  // start
std::size_t choose_candidate(std::span<const std::int64_t, kCandidates.size()> times);

// `values`: of this rank before the ranks agree, of each the largest of all ranks once over. Whoever makes them agree
// writes both, and serialises that with all questions to Changes made of it.
struct Agreement {
  std::vector<std::int64_t> values;
  bool over = false;
};

// How it goes on from one operation of the sequence on.
class Change {
 public:
  using Lead = Scheduler::Lead;

  static Change to_off() { return {}; }
  static Change to_candidate(std::size_t candidate, std::size_t step_bytes, std::shared_ptr<const Agreement> leads);
  // To what is the shortest by `times`.
  static Change to_shortest(std::size_t step_bytes, std::shared_ptr<const Agreement> leads,
                            std::shared_ptr<const Agreement> times);

  // What it depends on has been agreed on. Before that only settles() and step_bytes() may be asked.
  bool ready() const;
  std::size_t candidate() const;
  bool settles() const { return times_ != nullptr; }
  // Time of a step under each candidate, in nanoseconds. REQUIRES: settles().
  std::span<const std::int64_t, kCandidates.size()> times() const;
  std::size_t step_bytes() const { return step_bytes_; }  // what a step moves; 0: nothing is known, off
  // Lead of the operation at that position of the cycle, in bytes issued; none: its class's.
  Lead lead(std::size_t position) const;

 private:
  std::size_t candidate_ = 0;  // where there are no times_
  std::size_t step_bytes_ = 0;
  std::shared_ptr<const Agreement> leads_, times_;
};

class StepLearner {
 public:
  static constexpr std::size_t kStepsPerBlock = 3;  // of a candidate; the first is not measured
  static_assert(kStepsPerBlock > 1, "or no time is ever known");
  static constexpr std::size_t kBlocks = 2;   // of each candidate
  static constexpr std::size_t kLeadsAt = 2;  // the step before which ranks agree on leads
  static constexpr std::size_t kTryingAt = kLeadsAt + 1;
  static constexpr std::size_t kTimesAt = kTryingAt + kStepsPerBlock * kBlocks * kCandidates.size();
  static constexpr std::size_t kSettledAt = kTimesAt + 1;

  struct Issued {
    std::shared_ptr<Agreement> agree;     // the ranks shall, just before this operation; else null
    std::optional<Change> change;         // from this operation on
    std::optional<std::size_t> position;  // in the cycle that changes speak of; none: in no cycle
    // its number: awaited() is to be told of it; none: nothing is learned from that
    std::optional<std::uint64_t> watched;
  };
  // `what`: tells operations of the sequence from each other; `bytes`: what it moves. Both the same on every rank.
  Issued issued(std::uint64_t what, std::size_t bytes, TimePoint now);
  // Somebody waits for the operation of that number. The first time counts.
  void awaited(std::uint64_t number);

 private:
  // What was settled of a cycle.
  struct Known {
    std::vector<std::uint64_t> cycle;
    Change change;
  };

  void learn(std::vector<std::uint64_t> cycle);
  void begin_step(TimePoint now, Issued& issued);
  // What the `tried`th step since kTryingAt is under.
  static std::size_t candidate_of(std::uint64_t tried) { return tried / kStepsPerBlock % kCandidates.size(); }
  std::shared_ptr<Agreement> leads_so_far() const;
  std::shared_ptr<Agreement> times_so_far() const;

  RepeatFinder finder_;
  std::optional<Known> known_;  // the last that was settled
  // What is known of the present cycle:
  std::vector<std::uint64_t> cycle_;  // empty: listening
  std::size_t step_bytes_ = 0;        // complete after the first step
  std::size_t offset_ = 0;            // from a position here to one in the known cycle
  bool recalled_ = false;             // settled without trying: the known one
  std::uint64_t since_ = 0;           // operations
  std::uint64_t first_number_ = 0;    // of the first of them, of all that were ever issued here
  std::uint64_t issued_ = 0, issued_bytes_ = 0;
  std::vector<std::uint64_t> issued_at_;  // issued_bytes_ as those of the first kLeadsAt steps were issued
  std::vector<std::int64_t> leads_;       // by position; the shortest so far
  std::array<std::vector<std::int64_t>, kCandidates.size()> times_;
  TimePoint step_began_{};
  std::shared_ptr<Agreement> agreed_leads_, agreed_times_;
};

}  // namespace railweave::collectives

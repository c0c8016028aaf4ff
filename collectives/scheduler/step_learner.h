// Learns from the steps of one group what `auto` changes, and when (docs/internals/scheduler.md has the table of
// steps).
//
// A state machine: no clock, no thread, no I/O. Threads: one at a time. All answers depend only on the sequence of
// operations, which is the same on every rank. Exception: the values of an Agreement, until the ranks have agreed on
// them.
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
  bool by_leads = false;  // keys from learned leads, not from priorities
};
inline constexpr Window kTriedWindow{.operations = 2};
inline constexpr std::array<Candidate, 3> kCandidates{
    {{}, {.window = kTriedWindow}, {.window = kTriedWindow, .by_leads = true}}};
inline constexpr std::array<const char*, kCandidates.size()> kCandidateNames{"off", "window:2",
                                                                             "window:2 with learned leads"};
// Returns the candidate with the shortest time, if it is shorter than the first one (off) by more than kGainLeast; else
// the first. Times are by candidate, in any unit.
inline constexpr double kGainLeast = 0.005;  // a starting point, to be measured
std::size_t choose_candidate(std::span<const std::int64_t, kCandidates.size()> times);

// Values on which the ranks agree. Before `over` they are this rank's own; afterwards each is the maximum over all
// ranks. The caller that runs the agreement writes both fields, and serialises the writes with all calls of Changes
// that use it.
struct Agreement {
  std::vector<std::int64_t> values;
  bool over = false;
};

// A change of window and leads, from one operation of the sequence on.
class Change {
 public:
  using Lead = Scheduler::Lead;

  static Change to_off() { return {}; }
  static Change to_candidate(std::size_t candidate, std::size_t step_bytes, std::shared_ptr<const Agreement> leads);
  // Changes to the candidate that choose_candidate() finds in `times`.
  static Change to_shortest(std::size_t step_bytes, std::shared_ptr<const Agreement> leads,
                            std::shared_ptr<const Agreement> times);

  // Returns true once the ranks have agreed on everything that the change depends on. Until then only settles() and
  // step_bytes() may be called.
  bool ready() const;
  std::size_t candidate() const;
  bool settles() const { return times_ != nullptr; }
  // Nanoseconds of a step under each candidate. REQUIRES: settles(), ready().
  std::span<const std::int64_t, kCandidates.size()> times() const;
  std::size_t step_bytes() const { return step_bytes_; }  // moved by a step; 0: nothing is known, and the window is off
  // Lead of the operation at this position of the cycle, in bytes issued; none: the priority's lead. REQUIRES: ready().
  Lead lead(std::size_t position) const;

 private:
  std::size_t candidate_ = 0;  // used if there are no times_
  std::size_t step_bytes_ = 0;
  std::shared_ptr<const Agreement> leads_, times_;
};

class StepLearner {
 public:
  static constexpr std::size_t kStepsPerBlock = 3;  // per candidate; the first step is not measured
  static_assert(kStepsPerBlock > 1, "or no time is ever known");
  static constexpr std::size_t kBlocks = 2;   // per candidate
  static constexpr std::size_t kLeadsAt = 2;  // the ranks agree on leads just before this step
  static constexpr std::size_t kTryingAt = kLeadsAt + 1;
  static constexpr std::size_t kTimesAt = kTryingAt + kStepsPerBlock * kBlocks * kCandidates.size();
  static constexpr std::size_t kSettledAt = kTimesAt + 1;

  struct Issued {
    std::shared_ptr<Agreement> agree;     // the ranks must agree on it just before this operation; null: nothing
    std::optional<Change> change;         // takes effect with this operation
    std::optional<std::size_t> position;  // in the cycle of the change; none: not in a cycle
    // The operation's number, for awaited(); none: nothing is learned from waits for this operation.
    std::optional<std::uint64_t> watched;
  };
  // Adds the group's next operation. `what`: identifies the operation in the sequence. `bytes`: moved by the operation.
  // Both are the same on every rank.
  Issued issued(std::uint64_t what, std::size_t bytes, TimePoint now);
  // Reports that a thread waits for the operation of that number. Only the first report for a number counts.
  void awaited(std::uint64_t number);

 private:
  // A cycle, and the change on which the ranks settled for it.
  struct Known {
    std::vector<std::uint64_t> cycle;
    Change change;
  };

  void learn(std::vector<std::uint64_t> cycle);
  void begin_step(TimePoint now, Issued& issued);
  // Candidate of the `tried`th step since kTryingAt.
  static std::size_t candidate_of(std::uint64_t tried) { return tried / kStepsPerBlock % kCandidates.size(); }
  std::shared_ptr<Agreement> leads_so_far() const;
  std::shared_ptr<Agreement> times_so_far() const;

  RepeatFinder finder_;
  std::optional<Known> known_;  // the last cycle that was settled
  // About the present cycle:
  std::vector<std::uint64_t> cycle_;  // empty: listening
  std::size_t step_bytes_ = 0;        // bytes of a step; complete after the first
  std::size_t offset_ = 0;            // added to a position here: the position in the known cycle
  bool recalled_ = false;             // settled without trying, from known_
  std::uint64_t since_ = 0;           // operations since the cycle was found
  std::uint64_t first_number_ = 0;    // number of the first of them
  std::uint64_t issued_ = 0, issued_bytes_ = 0;
  std::vector<std::uint64_t> issued_at_;  // by operation of the first kLeadsAt steps: issued_bytes_ when issued
  std::vector<std::int64_t> leads_;       // by position: the shortest so far, in bytes; kUnseen: none
  std::array<std::vector<std::int64_t>, kCandidates.size()> times_;
  TimePoint step_began_{};
  std::shared_ptr<Agreement> agreed_leads_, agreed_times_;
};

}  // namespace railweave::collectives

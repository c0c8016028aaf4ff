// A schedule prepared for execution: the dependencies between steps, and the order of messages to and from each peer.
//
// Threads: any; constant after construction. All executions of the same problem share one plan.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collectives/schedule/schedule.h"

namespace railweave::collectives {

class Plan {
 public:
  // The messages to, or from, one peer.
  struct Flow {
    int peer = 0;                      // rank
    bool sends = false;                // true: to the peer; false: from the peer
    std::vector<std::uint32_t> steps;  // indices of steps, in posting order
  };

  // `at_once`: see Algorithm.
  explicit Plan(Schedule schedule, bool at_once = false);

  const Schedule& schedule() const { return schedule_; }
  bool at_once() const { return at_once_; }
  const Step& step(std::uint32_t index) const { return schedule_.steps[index]; }
  std::span<const Piece> operands(const Step& step) const {
    return std::span(schedule_.operands).subspan(step.operands_begin, step.operands_end - step.operands_begin);
  }
  // Receiving flows before sending flows; each in the order in which the schedule first names the peer.
  const std::vector<Flow>& flows() const { return flows_; }
  // By step: the number of steps that this step waits for.
  const std::vector<std::uint32_t>& waits_for() const { return waits_for_; }
  // The steps that wait for step `index`.
  std::span<const std::uint32_t> dependents(std::uint32_t index) const {
    return std::span(dependents_)
        .subspan(dependents_begin_[index], dependents_begin_[index + 1] - dependents_begin_[index]);
  }

 private:
  const Schedule schedule_;
  const bool at_once_;
  std::vector<Flow> flows_;
  std::vector<std::uint32_t> waits_for_, dependents_, dependents_begin_;  // dependents_begin_: by step, in dependents_
};

}  // namespace railweave::collectives

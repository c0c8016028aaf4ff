// A schedule made ready to run: who waits for whom, and what goes to and comes from each peer, in order. Constant once
// made; shared by every execution of the same problem.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collectives/schedule/schedule.h"

namespace railweave::collectives {

class Plan {
 public:
  // One direction to or from one peer.
  struct Flow {
    int peer = 0;
    bool sends = false;
    std::vector<std::uint32_t> steps;  // to be posted in this order
  };

  // `at_once`: see Algorithm.
  explicit Plan(Schedule schedule, bool at_once = false);

  const Schedule& schedule() const { return schedule_; }
  bool at_once() const { return at_once_; }
  const Step& step(std::uint32_t index) const { return schedule_.steps[index]; }
  std::span<const Piece> operands(const Step& step) const {
    return std::span(schedule_.operands).subspan(step.operands_begin, step.operands_end - step.operands_begin);
  }
  // Receives before sends; of peers in order of first mention.
  const std::vector<Flow>& flows() const { return flows_; }
  // By step: how many others it waits for.
  const std::vector<std::uint32_t>& waits_for() const { return waits_for_; }
  // Steps that wait for this one.
  std::span<const std::uint32_t> dependents(std::uint32_t index) const {
    return std::span(dependents_)
        .subspan(dependents_begin_[index], dependents_begin_[index + 1] - dependents_begin_[index]);
  }

 private:
  const Schedule schedule_;
  const bool at_once_;
  std::vector<Flow> flows_;
  std::vector<std::uint32_t> waits_for_, dependents_, dependents_begin_;
};

}  // namespace railweave::collectives

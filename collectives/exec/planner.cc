#include "collectives/exec/planner.h"

#include <algorithm>

#include "collectives/schedule/algorithm.h"

namespace railweave::collectives {

std::shared_ptr<const Plan> Planner::plan(const Problem& problem) {
  const auto it = std::ranges::find(known_, problem, &Known::problem);
  if (it != known_.end()) {
    known_.splice(known_.begin(), known_, it);
    return known_.front().plan;
  }
  const Algorithm* algorithm = choose(problem, costs_, named_);
  known_.push_front({problem, std::make_shared<const Plan>(algorithm->build(problem), algorithm->at_once)});
  if (known_.size() > kKeptMax) known_.pop_back();
  return known_.front().plan;
}

}  // namespace railweave::collectives

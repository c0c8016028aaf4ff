// Chooses the algorithm for a problem, and keeps the plans made last.
// Threads: under the runner's lock.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <string>

#include "collectives/exec/plan.h"
#include "collectives/schedule/cost_model.h"
#include "collectives/schedule/problem.h"

namespace railweave::collectives {

class Planner {
 public:
  // REQUIRES: `costs` and `named` (RAILWEAVE_ALGO) are the same on every rank.
  Planner(const Costs& costs, std::string named) : costs_(costs), named_(std::move(named)) {}

  const Costs& costs() const { return costs_; }
  // Returns the plan for `problem`, never null. Calls that differ in addresses only share a plan.
  std::shared_ptr<const Plan> plan(const Problem& problem);

 private:
  static constexpr std::size_t kKeptMax = 64;  // plans
  struct Known {
    Problem problem;
    std::shared_ptr<const Plan> plan;
  };

  Costs costs_;
  std::string named_;
  std::list<Known> known_;  // most recently used first
};

}  // namespace railweave::collectives

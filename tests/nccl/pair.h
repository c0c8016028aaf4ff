// Two connected ranks in this process, for tests that drive flows by hand.
#pragma once

#include <chrono>
#include <functional>

#include "tests/nccl/peer.h"
#include "tests/nccl/rank.h"

namespace railweave::nccl_test {

class Pair {
  Library library_;  // outlives the ranks
  std::unique_ptr<Net> net_;

 public:
  explicit Pair(const Scenario& scenario) : Pair(scenario, scenario) {}
  // The scenarios may differ in depth.
  Pair(const Scenario& for_first, const Scenario& for_second);

  std::unique_ptr<Rank> first, second;  // ranks 0 and 1
};

// Calls `step` until it returns true. Throws Failure naming `what` after `timeout`.
void spin_until(const std::string& what, std::chrono::milliseconds timeout, const std::function<bool()>& step);

// Advances a flow until the plugin reports an error, and returns the error. Throws std::logic_error if the flow
// finishes instead, and Failure after `timeout`.
std::string error_of(Flow& flow, std::chrono::milliseconds timeout);

}  // namespace railweave::nccl_test

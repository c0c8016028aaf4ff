// The traffic every version must carry, between threads, processes and hosts alike.
#pragma once

#include <vector>

#include "tests/nccl/scenario.h"

namespace railweave::nccl_test {

struct NamedScenario {
  const char* name;
  Scenario scenario;
};

// `version` is filled in by the caller.
const std::vector<NamedScenario>& standard_scenarios();

}  // namespace railweave::nccl_test

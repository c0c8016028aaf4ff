// The traffic that every version must carry: between threads, processes and hosts.
#pragma once

#include <vector>

#include "tests/nccl/scenario.h"

namespace railweave::nccl_test {

struct NamedScenario {
  const char* name;
  Scenario scenario;
};

// The caller sets `version`.
const std::vector<NamedScenario>& standard_scenarios();

}  // namespace railweave::nccl_test

// The algorithms by name. Each builds one rank's schedule of a problem; the schedules of all ranks fit together.
#pragma once

#include <span>
#include <string_view>

#include "collectives/schedule/load.h"
#include "collectives/schedule/problem.h"
#include "collectives/schedule/schedule.h"

namespace railweave::collectives {

struct Algorithm {
  std::string_view name;  // "ring", as in RAILWEAVE_ALGO
  Operation operation;
  bool (*fits)(const Problem& problem);       // whether build() may be called; the same answer on every rank
  Schedule (*build)(const Problem& problem);  // REQUIRES: fits(problem)
  Load (*load)(const Problem& problem);       // REQUIRES: fits(problem)
  bool at_once = false;                       // no rank's messages wait for what it receives
};

// All there are; for each operation at least one fits every problem. The order is that of preference at equal cost.
std::span<const Algorithm> algorithms();

}  // namespace railweave::collectives

// The table of algorithms. An algorithm builds one rank's schedule of a problem; the schedules of all ranks fit
// together.
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
  bool (*fits)(const Problem& problem);       // true: build() may be called; the same on every rank
  Schedule (*build)(const Problem& problem);  // REQUIRES: fits(problem)
  Load (*load)(const Problem& problem);       // REQUIRES: fits(problem)
  bool at_once = false;                       // no message of a rank waits for a message that it receives
};

// All algorithms, in order of preference at equal cost. For each operation at least one fits every problem.
std::span<const Algorithm> algorithms();

}  // namespace railweave::collectives

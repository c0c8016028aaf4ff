// Chooses an operation's algorithm: the fastest by measured costs of this group's network and cores, or the one that
// RAILWEAVE_ALGO names.
#pragma once

#include <string_view>

#include "collectives/schedule/algorithm.h"
#include "collectives/schedule/algorithm_choice.h"
#include "railweave/units.h"

namespace railweave::collectives {

// Measured by the group and agreed by its ranks: all ranks must choose from the same costs.
struct Costs {
  Nanos latency_between{30'000};  // a message of a few bytes to another host
  Nanos latency_within{5'000};    // the same to a rank of this host
  Nanos step_overhead{2'000};     // time of the core that posts and finishes a message
  Rate rate_between{500e6};       // of one host, each way, all rails together
  Rate rate_within{4e9};          // from one rank to another on its host
  Rate reduction{8e9};            // operand bytes read by one core
};

// Estimates the operation's duration with this algorithm; the same for every problem.rank. REQUIRES:
// algorithm.fits(problem).
Nanos estimate(const Problem& problem, const Algorithm& algorithm, const Costs& costs);

// Returns the algorithm that `named` gives this operation if it fits, else the cheapest that fits; never null. `named`
// is a list such as "ring" (every operation that has it) or "all_reduce=ring,broadcast=chain" (algorithm_choice.h).
const Algorithm* choose(const Problem& problem, const Costs& costs, std::string_view named);

}  // namespace railweave::collectives

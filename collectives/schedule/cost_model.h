// Which algorithm: the one that should be over first, by what was measured of this group's network and cores, or the
// one that RAILWEAVE_ALGO names.
#pragma once

#include <string_view>

#include "collectives/schedule/algorithm.h"
#include "collectives/schedule/algorithm_choice.h"
#include "railweave/units.h"

namespace railweave::collectives {

// Measured by the group and agreed upon: every rank must choose from the same.
struct Costs {
  Nanos latency_between{30'000};  // of a message of a few bytes to another host
  Nanos latency_within{5'000};    // to a rank of the same host
  Nanos step_overhead{2'000};     // of the core that posts and finishes a message
  Rate rate_between{500e6};       // of a host, each way: all rails together
  Rate rate_within{4e9};          // from one rank to another of its host
  Rate reduction{8e9};            // operands read by one core
};

// The operation's duration as this algorithm does it. REQUIRES: algorithm.fits(problem). The same whatever problem.rank
// is.
Nanos estimate(const Problem& problem, const Algorithm& algorithm, const Costs& costs);

// The algorithm `named` for this operation if it fits, else the cheapest that fits; never null. `named` is a list such
// as "ring" (every operation that has it) or "all_reduce=ring,broadcast=chain"; see algorithm_choice.h.
const Algorithm* choose(const Problem& problem, const Costs& costs, std::string_view named);

}  // namespace railweave::collectives

// RAILWEAVE_ALGO's value: a list of "algorithm" or "operation=algorithm", separated by commas.
#pragma once

#include <string_view>

#include "collectives/schedule/problem.h"
#include "railweave/status.h"

namespace railweave::collectives {

// "all_reduce"
std::string_view name(Operation operation);

// The algorithm that the last entry about this operation names; empty: none does.
std::string_view chosen_name(std::string_view named, Operation operation);

// Errors: invalid_config; the message tells which entry, and the algorithms there are.
Status check_algorithm_choice(std::string_view named);

}  // namespace railweave::collectives

// Parses RAILWEAVE_ALGO: a list of "algorithm" or "operation=algorithm", separated by commas.
#pragma once

#include <string_view>

#include "collectives/schedule/problem.h"
#include "railweave/status.h"

namespace railweave::collectives {

// Returns the operation's name, such as "all_reduce".
std::string_view name(Operation operation);

// Returns the algorithm in the last entry for this operation; empty if no entry names one.
std::string_view chosen_name(std::string_view named, Operation operation);

// Checks the list. Errors: invalid_config; the message names the wrong entry and lists the algorithms.
Status check_algorithm_choice(std::string_view named);

}  // namespace railweave::collectives

// Problems to try algorithms with.
#pragma once

#include <string>
#include <vector>

#include "collectives/schedule/algorithm.h"
#include "collectives/schedule/checker.h"

namespace railweave::collectives {

// Returns a problem of `count` elements per rank, or in all if the operation has one vector.
Problem problem_of(Operation operation, int ranks, std::size_t count);
// Returns a problem whose counts differ from rank to rank; some are zero. REQUIRES: has_counts_per_rank(operation).
Problem uneven_problem_of(Operation operation, int ranks, std::size_t scale);
bool has_counts_per_rank(Operation operation);

// Returns the problem of each rank. The counts of an uneven all_to_all are made to fit one another.
std::vector<Problem> everybody(const Problem& problem);
std::vector<Schedule> build_all(const Algorithm& algorithm, const std::vector<Problem>& problems);
// Checks the schedules of all ranks together.
Status check_all(const Algorithm& algorithm, const Problem& problem, std::size_t window);

const Algorithm& algorithm(Operation operation, std::string_view name);
std::string text(const Problem& problem);

}  // namespace railweave::collectives

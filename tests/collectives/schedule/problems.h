// Problems to try algorithms with.
#pragma once

#include <string>
#include <vector>

#include "collectives/schedule/algorithm.h"
#include "collectives/schedule/checker.h"

namespace railweave::collectives {

// `count` elements a rank, or as many in all where the operation has one vector.
Problem problem_of(Operation operation, int ranks, std::size_t count);
// Counts differ from rank to rank, and some are zero. The operation has counts per rank.
Problem uneven_problem_of(Operation operation, int ranks, std::size_t scale);
bool has_counts_per_rank(Operation operation);

// The problem of each rank. all_to_all with receive_counts that differ: made to fit one another.
std::vector<Problem> everybody(const Problem& problem);
std::vector<Schedule> build_all(const Algorithm& algorithm, const std::vector<Problem>& problems);
// Checks the schedules of all ranks together.
Status check_all(const Algorithm& algorithm, const Problem& problem, std::size_t window);

const Algorithm& algorithm(Operation operation, std::string_view name);
std::string text(const Problem& problem);

}  // namespace railweave::collectives

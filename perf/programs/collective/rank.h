// One rank of a run, from its engine to its last row.
#pragma once

#include <string>
#include <vector>

#include "collective/launch.h"
#include "collective/operation.h"
#include "collective/table.h"

namespace railweave::perf::collective {

class Reporter;

// Errors: invalid_argument when `ranks` ranks cannot do what was asked for.
Status check_request(const Operation& operation, const Options& options, int ranks);

// Joins the other ranks, runs every row and, on rank 0, reports. `thread` counts the ranks of this process. Returns the
// same summary on every rank. Errors: those of the group and of its operations.
Result<Summary> run_rank(const Operation& operation, const Options& options, const Place& place, int thread,
                         const std::vector<std::string>& command);

// Runs the rows on an existing group. `reporter` may be null. REQUIRES: check_request() returned no error.
Result<Summary> run_rows(const Operation& operation, const Options& options, Group& group, Reporter* reporter);

}  // namespace railweave::perf::collective

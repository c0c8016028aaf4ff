// One rank of a run, from its engine to its last row.
#pragma once

#include <string>
#include <vector>

#include "collective/launch.h"
#include "collective/operation.h"
#include "collective/table.h"

namespace railweave::perf::collective {

class Reporter;

// Errors: what was asked for is nothing that so many ranks could do.
Status check_request(const Operation& operation, const Options& options, int ranks);

// Meets the others, runs every row, and reports if it is rank 0. `thread` counts the ranks of this process. Returns the
// same summary on every rank. Errors: of the meeting, or of an operation.
Result<Summary> run_rank(const Operation& operation, const Options& options, const Place& place, int thread,
                         const std::vector<std::string>& command);

// The rows, on a group that is there already. `reporter` may be null.
// REQUIRES: check_request() found nothing.
Result<Summary> run_rows(const Operation& operation, const Options& options, Group& group, Reporter* reporter);

}  // namespace railweave::perf::collective

// Proves that the schedules of all ranks do an operation, by executing them on symbols (docs/internals/collectives.md,
// "Rules of a schedule"). Data is represented as runs of elements, so the cost depends on the number of steps, not of
// bytes.
#pragma once

#include <cstddef>
#include <span>

#include "collectives/schedule/problem.h"
#include "collectives/schedule/schedule.h"
#include "railweave/status.h"

namespace railweave::collectives {

struct CheckOptions {
  // Messages posted at once to one peer, and from one peer. A send is done only when its receive is posted.
  std::size_t window = 1;
};

// problems[r] and schedules[r] belong to rank r. Errors: internal; the message names rank, step and reason.
Status check(std::span<const Problem> problems, std::span<const Schedule> schedules, const CheckOptions& options = {});

}  // namespace railweave::collectives

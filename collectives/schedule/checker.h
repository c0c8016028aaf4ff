// Proves that the schedules of all ranks do an operation, by executing them on symbols: docs/internals/collectives.md,
// "Rules of a schedule". Data are runs of elements, so the cost goes with the number of steps, not of bytes.
#pragma once

#include <cstddef>
#include <span>

#include "collectives/schedule/problem.h"
#include "collectives/schedule/schedule.h"
#include "railweave/status.h"

namespace railweave::collectives {

struct CheckOptions {
  // Messages to one peer, and from one, that are posted at once. A send is done when its receive is posted, not before.
  std::size_t window = 1;
};

// problems[r] and schedules[r] are rank r's. Errors: internal; the message names rank and step and tells what is wrong.
Status check(std::span<const Problem> problems, std::span<const Schedule> schedules, const CheckOptions& options = {});

}  // namespace railweave::collectives

// Summarises the times of single iterations (-I).
#pragma once

#include <vector>

#include "collective/table.h"

namespace railweave::perf::collective {

// Expects one time for each iteration. Leaves out the first `skipped`, but always keeps the last.
IterationTimes summarise_iterations(const std::vector<double>& times_us, std::size_t skipped);

}  // namespace railweave::perf::collective

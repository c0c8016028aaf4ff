// What single iterations took (-I).
#pragma once

#include <vector>

#include "collective/table.h"

namespace railweave::perf::collective {

// `times_us` has a time for each iteration. The first `skipped` are left out; the last is always kept.
IterationTimes summarise_iterations(const std::vector<double>& times_us, std::size_t skipped);

}  // namespace railweave::perf::collective

// What single iterations took (-I).
#pragma once

#include <vector>

#include "collective/table.h"

namespace railweave::perf::collective {

// Of microseconds, iteration by iteration; the first `skipped` are left out, but for the last that there is.
IterationTimes summarise_iterations(const std::vector<double>& times_us, std::size_t skipped);

}  // namespace railweave::perf::collective

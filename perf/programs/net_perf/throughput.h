// Measures throughput over comms, for a duration or with an equal number of bytes for each comm.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "net_perf/rank_run.h"

namespace railweave::perf::net_perf {

// Both ranks call this at the same time and get the result (docs/internals/perf.md).
Result<nlohmann::json> measure_throughput(const RankRun& run);

}  // namespace railweave::perf::net_perf

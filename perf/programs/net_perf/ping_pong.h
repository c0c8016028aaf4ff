// Measures round-trip times: one comm each way, receives posted ahead as NCCL does, one thread per process.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "net_perf/rank_run.h"

namespace railweave::perf::net_perf {

// Returns one result per size. Both ranks call this at the same time. Rank 1's results hold no times.
Result<nlohmann::json> measure_ping_pong(const RankRun& run);

}  // namespace railweave::perf::net_perf

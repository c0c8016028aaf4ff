// Round-trip times: one comm each way, receives posted ahead as NCCL does, one thread per process.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "net_perf/rank_run.h"

namespace railweave::perf::net_perf {

// One RESULT per size. Both ranks call it at the same time; rank 1's results hold no times.
Result<nlohmann::json> measure_ping_pong(const RankRun& run);

}  // namespace railweave::perf::net_perf

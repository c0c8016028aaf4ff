// Transfers a file from rank 0 to rank 1 over one comm and checks its SHA-256.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "net_perf/rank_run.h"

namespace railweave::perf::net_perf {

// Both ranks call this at the same time and get the result (docs/internals/perf.md) with "file" in it. The file is in
// memory before the clock starts. The sums are computed after the clock stopped.
Result<nlohmann::json> transfer_file(const RankRun& run);

}  // namespace railweave::perf::net_perf

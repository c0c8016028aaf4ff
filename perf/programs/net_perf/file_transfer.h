// A file, from rank 0 to rank 1 over one comm, checked by SHA-256.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "net_perf/rank_run.h"

namespace railweave::perf::net_perf {

// Both ranks call it at the same time; both get the RESULT (docs/internals/perf.md), "file" in it. The file is in
// memory before the clock starts, and the sums are made after it has stopped.
Result<nlohmann::json> transfer_file(const RankRun& run);

}  // namespace railweave::perf::net_perf

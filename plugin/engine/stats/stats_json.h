// EngineStats as JSON, for the info program and the perf programs. Field names are those of railweave/stats.h;
// durations carry their unit ("min_rtt_ns"), the rate is "rate_bytes_per_s". Threads: any.
#pragma once

#include <string>
#include <string_view>

#include "railweave/stats.h"
#include "railweave/status.h"

namespace railweave::engine {

// One object on one line, in ASCII: other bytes of names become '?'. About 1 us per lane.
std::string to_json(const EngineStats& stats);

// What to_json wrote, of this or another version: missing fields keep their defaults, unknown ones are ignored.
// Errors: invalid_argument for what is no JSON object, or a field of the wrong type (named).
Result<EngineStats> stats_from_json(std::string_view text);

}  // namespace railweave::engine

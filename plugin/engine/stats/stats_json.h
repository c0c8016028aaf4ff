// EngineStats as JSON, for railweave info and the perf programs. Field names are those of railweave/stats.h. Durations
// have their unit in the name ("min_rtt_ns"); the rate is "rate_bytes_per_s". Threads: any.
#pragma once

#include <string>
#include <string_view>

#include "railweave/stats.h"
#include "railweave/status.h"

namespace railweave::engine {

// Returns one object on one line, in ASCII; other bytes of names become '?'. Takes about 1 us per lane.
std::string to_json(const EngineStats& stats);

// Reads what to_json() of this or another version wrote. Missing fields keep their defaults, unknown ones are ignored.
// Errors: invalid_argument (the text is no JSON object, or the named field has a wrong type).
Result<EngineStats> stats_from_json(std::string_view text);

}  // namespace railweave::engine

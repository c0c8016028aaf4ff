// The asking side of StatsServer.
// Threads: any.
#pragma once

#include <sys/types.h>
#include <string>

#include "railweave/stats.h"
#include "railweave/status.h"
#include "railweave/units.h"

namespace railweave::engine {

// Who listens at `path`: its pid as this process sees it, 0 when it lives in a pid namespace out of sight. Errors:
// system (stale: ECONNREFUSED; another user's: EACCES).
Result<pid_t> stats_owner(const std::string& path);

// Asks the process behind `path`. Blocks for at most `patience`. Errors: system, timed_out, remote (a nonsense answer).
Result<EngineStats> fetch_stats(const std::string& path, Nanos patience);

}  // namespace railweave::engine

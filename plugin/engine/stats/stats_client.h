// The client of StatsServer: fetches the statistics of a running process.
// Threads: any.
#pragma once

#include <sys/types.h>
#include <string>

#include "railweave/stats.h"
#include "railweave/status.h"
#include "railweave/units.h"

namespace railweave::engine {

// Returns the pid of the process that listens at `path`, as this process sees the pid; 0: the process is in a pid
// namespace that is not visible here. Errors: invalid_config (`path` is too long for a socket), system (ECONNREFUSED:
// the socket is stale; EACCES: another user's), timed_out (the process lives, but has taken no client for long).
Result<pid_t> stats_owner(const std::string& path);

// Fetches the statistics of the process behind `path`. Blocks for `patience` at most. Errors: invalid_config (`path` is
// too long for a socket), system, timed_out, remote (no answer, or one of a wrong size), invalid_argument
// (stats_from_json()).
Result<EngineStats> fetch_stats(const std::string& path, Nanos patience);

}  // namespace railweave::engine

// Polls a process's engines repeatedly.
#pragma once

#include <vector>

#include "info/process_finder.h"
#include "railweave/status.h"
#include "railweave/units.h"

namespace railweave::info {

// Prints once per `period` the traffic of each rail since the last line. Returns OK after SIGINT or SIGTERM and when
// the process ends. `json`: one object per line (process_json). Errors: the first sample of an engine fails.
Status watch(const std::vector<RunningEngine>& engines, Nanos period, bool json);

}  // namespace railweave::info

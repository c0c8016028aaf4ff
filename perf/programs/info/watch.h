// Asking a process again and again.
#pragma once

#include <vector>

#include "info/process_finder.h"
#include "railweave/status.h"
#include "railweave/units.h"

namespace railweave::info {

// Prints once per `period` what each rail carried since, until SIGINT or SIGTERM or the end of the process: both are
// OK. `json`: one object per line (process_json). Errors: the process cannot be asked the first time.
Status watch(const std::vector<RunningEngine>& engines, Nanos period, bool json);

}  // namespace railweave::info

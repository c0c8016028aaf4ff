// Measures throughput over a set of rails: one socket for each direction and rail, all polled by one thread per
// process.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "common/control_connection.h"
#include "common/rail_list.h"
#include "common/timed_commands.h"
#include "raw_tcp/options.h"

namespace railweave::perf::raw_tcp {

// Both ranks call this at the same time and get the result (docs/internals/perf.md).
Result<nlohmann::json> measure_throughput(ControlConnection& control, const std::vector<RailAddress>& rails,
                                          const Options& options, double baseline_share);

}  // namespace railweave::perf::raw_tcp

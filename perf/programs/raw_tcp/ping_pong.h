// Measures round-trip times over one socket, with one spinning thread per process.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "common/control_connection.h"
#include "common/rail_list.h"
#include "raw_tcp/options.h"

namespace railweave::perf::raw_tcp {

// Returns one result per size. Both ranks call this at the same time. Rank 1's results hold no times.
Result<nlohmann::json> measure_ping_pong(ControlConnection& control, const RailAddress& rail, const Options& options);

}  // namespace railweave::perf::raw_tcp

// Round-trip times over one socket, one spinning thread per process.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "common/rail_list.h"
#include "common/rendezvous.h"
#include "raw_tcp/options.h"

namespace railweave::perf::raw_tcp {

// One RESULT per size. Both ranks call it at the same time; rank 1's results hold no times.
Result<nlohmann::json> measure_ping_pong(Rendezvous& rendezvous, const RailAddress& rail, const Options& options);

}  // namespace railweave::perf::raw_tcp

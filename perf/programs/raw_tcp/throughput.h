// Throughput over a set of rails: one socket each way and rail, all polled by one thread per process.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "common/rail_list.h"
#include "common/rendezvous.h"
#include "common/timed_commands.h"
#include "raw_tcp/options.h"

namespace railweave::perf::raw_tcp {

// Both ranks call it at the same time; both get the RESULT (docs/internals/perf.md).
Result<nlohmann::json> measure_throughput(Rendezvous& rendezvous, const std::vector<RailAddress>& rails,
                                          const Options& options, double baseline_share);

}  // namespace railweave::perf::raw_tcp

// Formats the statistics of one engine of a running process.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "info/process_finder.h"
#include "railweave/stats.h"
#include "railweave/units.h"

namespace railweave::info {

// Sums over one local rail's lanes. A rail without a lane has zeros.
struct RailTotals {
  int lanes = 0;
  std::uint64_t bytes_sent = 0, bytes_received = 0, outstanding_bytes = 0, retransmits = 0, damaged_frames = 0;
};
std::map<std::string, RailTotals> totals_by_rail(const EngineStats& stats);

// Lists every rail, then each session with its lanes.
std::string process_text(const RunningEngine& engine, const EngineStats& stats);
nlohmann::ordered_json process_json(const RunningEngine& engine, const EngineStats& stats);

// Returns visible ASCII: other characters are escaped. Names of interfaces and processes may hold any bytes: those that
// are no UTF-8 become U+FFFD.
std::string json_text(const nlohmann::ordered_json& document, int indent = -1);

// Returns the age of the oldest request of all sessions; 0 if nothing is pending.
Nanos oldest_request_age(const EngineStats& stats);

}  // namespace railweave::info

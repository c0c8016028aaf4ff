// Counters of this process's own engine, read over its statistics socket so that nothing inside the plugin is linked.
// Other plugins have none.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "railweave/stats.h"

namespace railweave::perf::net_perf {

class EngineCounters {
 public:
  struct Control {
    std::uint64_t frames = 0, retransmitted = 0;  // of all sessions
  };
  EngineCounters(std::vector<LaneStats> lanes, const Control& control) : lanes_(std::move(lanes)), control_(control) {}

  // Returns the counts since `earlier`, lane by lane. A lane is identified by its addresses.
  EngineCounters operator-(const EngineCounters& earlier) const;
  // Sums over lanes, and the lanes.
  nlohmann::json to_json() const;
  // Returns {"frames", "write_calls", "read_calls"} for each message of this rank, sent or received.
  nlohmann::json per_message(std::uint64_t messages) const;

 private:
  LaneStats sum() const;
  std::vector<LaneStats> lanes_;
  Control control_;
};

// Waits at most 1 s for an engine. Returns nothing if no engine of this process answers.
std::optional<EngineCounters> read_engine_counters();

}  // namespace railweave::perf::net_perf

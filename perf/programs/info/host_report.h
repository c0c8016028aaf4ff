// Discovery's result for this host under the present environment, and whether an engine starts with it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "discovery/rails.h"
#include "info/rail_condition.h"
#include "info/rail_wires.h"
#include "railweave/config.h"
#include "railweave/device.h"

namespace railweave::info {

struct HostReport {
  Config config;
  discovery::Survey survey;
  std::vector<Device> devices;            // empty if there are no rails
  std::vector<RailCondition> conditions;  // by rail
  std::vector<RailWires> wires;           // by rail
  std::optional<std::int64_t> tcp_mtu_probing;
  // the survey's; else the reason why no engine starts, or why collectives refuse their own settings
  Status status;
};

// Blocks while links come up (discovery/rails.h). Starts an engine for a moment to learn whether it refuses the
// settings. Does not try RAILWEAVE_PORTS: the port may be the last that a process of a starting job finds.
HostReport survey_host(const Config& config);

std::string host_text(const HostReport& report);
// {"interfaces", "rails", "devices", "tcp_mtu_probing", "configuration", "error"}; "error" is null or a message.
nlohmann::ordered_json host_json(const HostReport& report);

}  // namespace railweave::info

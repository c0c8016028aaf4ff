// What discovery makes of this host under the present environment.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "discovery/rails.h"
#include "railweave/config.h"
#include "railweave/device.h"

namespace railweave::info {

struct HostReport {
  Config config;
  discovery::Survey survey;
  std::vector<Device> devices;  // empty when there are no rails
};

// Blocks while links come up (discovery/rails.h).
HostReport look_at_host(const Config& config);

std::string host_text(const HostReport& report);
// {"interfaces", "rails", "devices", "configuration", "error"}; "error" is null or a message.
nlohmann::ordered_json host_json(const HostReport& report);

}  // namespace railweave::info

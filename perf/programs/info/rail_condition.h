// The effect of the kernel's settings and routes on each rail of this host, and a verdict in words.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "discovery/host_settings.h"
#include "discovery/route_lookup.h"
#include "railweave/device.h"

namespace railweave::info {

// How packets from one of a rail's addresses leave its subnet.
struct DefaultRoute {
  Address source;
  discovery::RouteAnswer answer;
};

struct RailCondition {
  discovery::InterfaceSettings settings;
  // for the rail's first address of each family; none for loopback and link-local addresses
  std::vector<DefaultRoute> default_routes;
  std::string verdict;  // one line
};

// Returns one condition for each rail. Asks the kernel a few questions for each.
std::vector<RailCondition> conditions_of(const std::vector<Rail>& rails, const discovery::HostView& host);

// REQUIRES: one condition for each rail.
std::string conditions_text(const std::vector<Rail>& rails, const std::vector<RailCondition>& conditions);
std::string verdicts_text(const std::vector<Rail>& rails, const std::vector<RailCondition>& conditions);

// {"arp_ignore", "arp_announce", "rp_filter", "default_routes": [{"source", "kind", "interface", "gateway", "cause"}],
// "verdict"}; null if unknown or absent.
nlohmann::ordered_json condition_json(const RailCondition& condition);

// "-" and null if the kernel does not report the setting.
std::string setting_text(const std::optional<std::int64_t>& setting);
nlohmann::ordered_json setting_json(const std::optional<std::int64_t>& setting);

}  // namespace railweave::info

// Which wires each rail of this host has, and why it lacks the others.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "engine/rails/wires.h"
#include "railweave/config.h"
#include "railweave/device.h"

namespace railweave::info {

using RailWires = std::vector<engine::WireOnRail>;  // of one rail: every wire between hosts of this build

// Returns one list for each rail. Loads the libraries of the wires and opens their devices.
std::vector<RailWires> wires_of(const std::vector<Rail>& rails, const Config& config);

// Errors: invalid_config, if no rail has a wire that RAILWEAVE_WIRES names.
Status check_wires(const std::vector<RailWires>& wires, const Config& config);
// Returns why the rail carries nothing; empty: it has a wire that RAILWEAVE_WIRES names.
std::string why_unusable(const RailWires& wires, const Config& config);

// REQUIRES: one list for each rail.
std::string wires_text(const std::vector<Rail>& rails, const std::vector<RailWires>& wires);
// [{"name", "usable", "why_not"}]; "why_not" is null or a message.
nlohmann::ordered_json wires_json(const RailWires& wires);

}  // namespace railweave::info

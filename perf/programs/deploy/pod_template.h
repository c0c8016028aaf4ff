// The pods that carry traffic: one container with the rails, the settings of Railweave, and the key.
#pragma once

#include <string>
#include <vector>

#include "deploy/networks.h"
#include "deploy/request.h"

namespace railweave::deploy {

// Returns {"metadata", "spec"}; metadata is left out if empty. `container`: its name, which operators look for.
// An empty `command` is left out: the image's own.
Json pod_template(const Request& request, const Networks& networks, const std::string& container,
                  const std::vector<std::string>& command);

// The names of the variables that pod_template() sets.
std::vector<std::string> variable_names(const Request& request);

// As pod_template(), without rails and devices: for a launcher that only starts the ranks elsewhere.
Json launcher_template(const Request& request, const std::string& container, const std::vector<std::string>& command);

}  // namespace railweave::deploy

// The collectives' variables: RAILWEAVE_ALGO and RAILWEAVE_SCHEDULE. Programs that make groups register this section
// before Config::from_environment(); without it the variables are ignored.
#pragma once

#include <string>

#include "base/config_section.h"

namespace railweave::collectives {

// Read by Config::of<CollectivesConfig>(). Texts are well-formed; check_algorithm_choice() and parse_policy() judge
// them.
struct CollectivesConfig {
  std::string algorithms;        // RAILWEAVE_ALGO; empty: the cheapest by the cost model
  std::string schedule = "off";  // RAILWEAVE_SCHEDULE: off, auto, window:N or window:BYTES
};

// Any thread, any number of times.
void register_config();

}  // namespace railweave::collectives

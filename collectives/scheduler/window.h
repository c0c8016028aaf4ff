// How much the scheduler lets move at once, and how RAILWEAVE_SCHEDULE says it (docs/internals/scheduler.md).
#pragma once

#include <cstddef>
#include <string_view>

#include "railweave/status.h"

namespace railweave::collectives {

struct Window {
  std::size_t operations = 0, bytes = 0;  // at most; 0: any number

  friend bool operator==(const Window&, const Window&) = default;
};

struct Policy {
  Window window;        // to begin with
  bool learns = false;  // auto (step_learner.h)

  friend bool operator==(const Policy&, const Policy&) = default;
};

// "off", "window:2" (operations), "window:64M" (bytes: K, M, G or KiB, MiB, GiB behind the number), "auto". A number is
// below 2^32.
// Errors: invalid_config, saying
// what was found and what there is.
Result<Policy> parse_policy(std::string_view text);

}  // namespace railweave::collectives

// Bounds what the scheduler lets move at once, and parses RAILWEAVE_SCHEDULE (docs/internals/scheduler.md).
#pragma once

#include <cstddef>
#include <string_view>

#include "railweave/status.h"

namespace railweave::collectives {

struct Window {
  std::size_t operations = 0, bytes = 0;  // at most; 0: no limit

  friend bool operator==(const Window&, const Window&) = default;
};

struct Policy {
  Window window;        // at first
  bool learns = false;  // "auto" (step_learner.h)

  friend bool operator==(const Policy&, const Policy&) = default;
};

// Parses "off", "window:2" (operations), "window:64M" (bytes: K, M, G or KiB, MiB, GiB behind the number) or "auto". A
// number is below 2^32.
// Errors: invalid_config; the message names the value that was found and the values that are allowed.
Result<Policy> parse_policy(std::string_view text);

}  // namespace railweave::collectives

// RAILWEAVE_SCHEDULE's value: how much the scheduler lets move at once (docs/scheduler.md).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "railweave/status.h"

namespace railweave::collectives {

struct Policy {
  enum class Kind { off, operations, bytes };
  Kind kind = Kind::off;
  std::size_t most = 0;                    // operations or bytes: the window

  friend bool operator==(const Policy&, const Policy&) = default;
};

// "off", "window:2" (operations), "window:64M" (bytes: K, M or G behind the number). Errors: invalid_config, saying what
// was found and what there is.
Result<Policy> parse_policy(std::string_view text);
std::string text_of(const Policy& policy);

}  // namespace railweave::collectives

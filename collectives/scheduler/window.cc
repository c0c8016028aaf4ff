#include "collectives/scheduler/window.h"

#include <string>
#include <string_view>

#include "base/config_number.h"

namespace railweave::collectives {
namespace {

constexpr std::string_view kPrefix = "window:";

}  // namespace

Result<Policy> parse_policy(std::string_view text) {
  if (text == "off") return Policy{};
  if (text == "auto") return Policy{.window = {}, .learns = true};
  const Status refused(Code::invalid_config, Scope::engine,
                       "RAILWEAVE_SCHEDULE: found '" + std::string(text) +
                           "', expected off, auto, window:N (operations) or window:BYTES (as 64M)");
  if (!text.starts_with(kPrefix)) return refused;
  const std::string_view number = text.substr(kPrefix.size());
  const auto value = parse_number(ValueKind::size, number);
  if (!value || *value == 0) return refused;
  const bool counts_operations = number.back() >= '0' && number.back() <= '9';
  return Policy{.window = counts_operations ? Window{.operations = std::size_t(*value)}
                                            : Window{.bytes = std::size_t(*value)}};
}

}  // namespace railweave::collectives

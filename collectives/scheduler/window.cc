#include "collectives/scheduler/window.h"

#include <charconv>
#include <string>
#include <string_view>
#include <utility>

#include "railweave/units.h"

namespace railweave::collectives {
namespace {

constexpr std::string_view kPrefix = "window:";
constexpr std::pair<char, std::size_t> kUnits[] = {{'G', 1024 * MiB}, {'M', MiB}, {'K', KiB}};

}  // namespace

Result<Policy> parse_policy(std::string_view text) {
  if (text == "off") return Policy{};
  if (text == "auto") return Policy{.window = {}, .learns = true};
  const Status refused(Code::invalid_config, Scope::engine,
                       "RAILWEAVE_SCHEDULE: found '" + std::string(text) + "', expected off, auto, window:N (operations) or window:BYTES (as 64M)");
  if (!text.starts_with(kPrefix)) return refused;
  const std::string_view number = text.substr(kPrefix.size());
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc() || value == 0) return refused;
  const std::string_view unit(end, std::size_t(number.data() + number.size() - end));
  if (unit.empty()) return Policy{.window = {.operations = value}};
  for (const auto& [name, bytes] : kUnits) {
    if (unit.size() != 1 || unit[0] != name || value > ~std::size_t{0} / bytes) continue;
    return Policy{.window = {.bytes = value * bytes}};
  }
  return refused;
}

}  // namespace railweave::collectives

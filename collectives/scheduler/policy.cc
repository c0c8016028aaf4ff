#include "collectives/scheduler/policy.h"

#include <charconv>
#include <utility>

namespace railweave::collectives {
namespace {

constexpr std::string_view kWindow = "window:";
constexpr std::pair<char, std::size_t> kUnits[] = {{'G', std::size_t{1} << 30}, {'M', std::size_t{1} << 20}, {'K', std::size_t{1} << 10}};

}  // namespace

Result<Policy> parse_policy(std::string_view text) {
  if (text == "off") return Policy{};
  const Status refused(Code::invalid_config, Scope::engine,
                       "found '" + std::string(text) + "', expected off, window:N (operations) or window:BYTES (as 64M)");
  if (!text.starts_with(kWindow)) return refused;
  const std::string_view number = text.substr(kWindow.size());
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc() || value == 0) return refused;
  const std::string_view unit(end, std::size_t(number.data() + number.size() - end));
  if (unit.empty()) return Policy{Policy::Kind::operations, value};
  for (const auto& [name, bytes] : kUnits) {
    if (unit.size() != 1 || unit[0] != name || value > ~std::size_t{0} / bytes) continue;
    return Policy{Policy::Kind::bytes, value * bytes};
  }
  return refused;
}

std::string text_of(const Policy& policy) {
  switch (policy.kind) {
    case Policy::Kind::off: return "off";
    case Policy::Kind::operations: return std::string(kWindow) + std::to_string(policy.most);
    case Policy::Kind::bytes: break;
  }
  for (const auto& [name, bytes] : kUnits)
    if (policy.most % bytes == 0) return std::string(kWindow) + std::to_string(policy.most / bytes) + name;
  return std::string(kWindow) + std::to_string(policy.most) + " bytes";
}

}  // namespace railweave::collectives

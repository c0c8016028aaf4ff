#include "collective/byte_count.h"

#include <charconv>
#include <cmath>
#include <string>

namespace railweave::perf::collective {
namespace {

constexpr std::string_view kSuffixes = "KMG";
constexpr double kBytesMax = 0x1p60;

Status not_a_size(std::string_view text) {
  return Status(Code::invalid_argument, Scope::request,
                "'" + std::string(text) + "' is not a size; expected a number and an optional K, M or G");
}

}  // namespace

Result<std::size_t> parse_byte_count(std::string_view text) {
  double value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return not_a_size(text);
  const std::string_view suffix(rest, std::size_t(text.data() + text.size() - rest));
  if (!suffix.empty()) {
    const auto power = kSuffixes.find(char(suffix[0] & ~0x20));
    if (power == std::string_view::npos || suffix.size() > 1) return not_a_size(text);
    value = std::ldexp(value, 10 * (int(power) + 1));
  }
  if (!(value >= 0 && value < kBytesMax)) return not_a_size(text);
  return std::size_t(value);
}

}  // namespace railweave::perf::collective

#include "common/sizes.h"

#include <charconv>

namespace railweave::perf {
namespace {

constexpr std::string_view kSuffixes = "KMGT";

Status not_a_size(std::string_view text) {
  return Status(Code::invalid_argument, Scope::request,
                "'" + std::string(text) + "' is not a size; expected digits and an optional K, M, G or T");
}

}  // namespace

Result<std::size_t> parse_size(std::string_view text) {
  std::size_t value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return not_a_size(text);
  const std::string_view suffix(rest, std::size_t(text.data() + text.size() - rest));
  if (suffix.empty()) return value;
  const auto power = kSuffixes.find(char(suffix[0] & ~0x20));
  if (power == std::string_view::npos || suffix.size() > 1) return not_a_size(text);
  const unsigned shift = 10 * (unsigned(power) + 1);
  if (value > (~std::size_t{0} >> shift)) return not_a_size(text);
  return value << shift;
}

Result<std::vector<std::size_t>> parse_sizes(std::string_view text) {
  std::vector<std::size_t> sizes;
  while (true) {
    const auto comma = text.find(',');
    auto size = parse_size(text.substr(0, comma));
    if (!size.ok()) return size.status();
    sizes.push_back(*size);
    if (comma == std::string_view::npos) return sizes;
    text.remove_prefix(comma + 1);
  }
}

Result<SizeRange> parse_size_range(std::string_view text) {
  const auto dots = text.find("..");
  if (dots == std::string_view::npos) {
    return Status(Code::invalid_argument, Scope::request,
                  "'" + std::string(text) + "' is not a range of sizes; expected for example 0..8M");
  }
  auto smallest = parse_size(text.substr(0, dots));
  if (!smallest.ok()) return smallest.status();
  auto largest = parse_size(text.substr(dots + 2));
  if (!largest.ok()) return largest.status();
  if (*smallest > *largest) {
    return Status(Code::invalid_argument, Scope::request, "'" + std::string(text) + "': the first is the greater");
  }
  return SizeRange{*smallest, *largest};
}

std::string format_size(std::size_t bytes) {
  std::size_t power = 0;
  while (bytes != 0 && bytes % 1024 == 0 && power < kSuffixes.size()) {
    bytes /= 1024;
    ++power;
  }
  return std::to_string(bytes) + (power > 0 ? std::string(1, kSuffixes[power - 1]) : "");
}

}  // namespace railweave::perf

#include "base/config_number.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

namespace railweave {
namespace {

template <class T>
std::optional<T> parse_digits(std::string_view text, int base = 10) {
  T number;
  std::from_chars_result end;
  if constexpr (std::is_integral_v<T>)
    end = std::from_chars(text.data(), text.data() + text.size(), number, base);
  else
    end = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (end.ec != std::errc() || end.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

struct SizeUnit {
  std::string_view name;
  int shift;
};
constexpr std::array<SizeUnit, 3> kSizeUnits = {{{"GiB", 30}, {"MiB", 20}, {"KiB", 10}}};

std::optional<std::int64_t> parse_integer(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) {
    const auto magnitude = parse_digits<std::uint32_t>(text.substr(2), 16);
    return magnitude ? std::optional<std::int64_t>(*magnitude) : std::nullopt;
  }
  return parse_digits<std::int64_t>(text);
}

std::optional<std::int64_t> parse_size(std::string_view text) {
  int shift = 0;
  for (const SizeUnit& unit : kSizeUnits) {
    for (const std::string_view name : {unit.name, unit.name.substr(0, 1)}) {
      if (shift != 0 || !text.ends_with(name)) continue;
      text.remove_suffix(name.size());
      shift = unit.shift;
    }
  }
  const auto count = parse_digits<std::uint32_t>(text);
  return count ? std::optional<std::int64_t>(std::int64_t{*count} << shift) : std::nullopt;
}

std::optional<std::int64_t> parse_seconds(std::string_view text) {
  const auto seconds = parse_digits<double>(text);
  if (!seconds || !(*seconds >= 0 && *seconds < 1e9)) return std::nullopt;
  return static_cast<std::int64_t>(*seconds * 1e9 + 0.5);
}

std::string size_text(std::int64_t bytes) {
  for (const SizeUnit& unit : kSizeUnits) {
    if (bytes != 0 && bytes % (std::int64_t{1} << unit.shift) == 0)
      return fmt::format("{}{}", bytes >> unit.shift, unit.name);
  }
  return fmt::format("{}", bytes);
}

}  // namespace

std::string number_text(ValueKind kind, std::int64_t number) {
  switch (kind) {
    case ValueKind::size: return size_text(number);
    case ValueKind::seconds: return fmt::format("{}", static_cast<double>(number) / 1e9);
    case ValueKind::integer:
    case ValueKind::text: break;
  }
  return fmt::format("{}", number);
}

std::optional<std::int64_t> parse_number(ValueKind kind, std::string_view text) {
  switch (kind) {
    case ValueKind::size: return parse_size(text);
    case ValueKind::seconds: return parse_seconds(text);
    case ValueKind::integer:
    case ValueKind::text: break;
  }
  return parse_integer(text);
}

}  // namespace railweave

#include "base/config_setting.h"

#include <fmt/format.h>
#include <algorithm>

namespace railweave {

bool is_graphic_ascii(char c) { return c > ' ' && c < 0x7F; }

bool is_absolute_path(std::string_view text) {
  constexpr std::size_t kBytesMax = 4095;  // PATH_MAX less its zero
  return text.starts_with('/') && text.size() <= kBytesMax && text.find('\0') == text.npos;
}

bool parse_setting(const Setting& setting, std::string_view text, Config& config) {
  if (setting.kind == ValueKind::text) return setting.parse_text(text, config);
  const auto number = parse_number(setting.kind, text);
  if (!number || *number < setting.min || *number > setting.max) return false;
  setting.set_number(*number, config);
  return true;
}

std::string value_text(const Setting& setting, const Config& config) {
  if (setting.kind == ValueKind::text) return setting.text_of(config);
  return number_text(setting.kind, setting.number_of(config));
}

std::string expected_form(const Setting& setting) {
  const auto bounds = [&](std::string_view what) {
    return fmt::format("{} from {} to {}", what, number_text(setting.kind, setting.min),
                       number_text(setting.kind, setting.max));
  };
  switch (setting.kind) {
    case ValueKind::integer: return bounds("an integer");
    case ValueKind::size: return bounds("a size in bytes, or with KiB, MiB or GiB,");
    case ValueKind::seconds: return bounds("a number of seconds");
    case ValueKind::text: break;
  }
  return std::string(setting.form);
}

}  // namespace railweave

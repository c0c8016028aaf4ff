// One environment variable: how its text becomes a value of Config, and back (config_section.h gathers them).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/config_number.h"
#include "railweave/config.h"

namespace railweave {

// REQUIRES: name and help. Kind text: also form, parse_text and text_of. Every other kind: also min, max, set_number
// and number_of. The fields of the other group are not read.
struct Setting {
  std::string_view name;
  ValueKind kind = ValueKind::text;
  std::string_view default_meaning = {};  // what the default amounts to; empty: the value says it
  std::string_view help;                  // Markdown, whole sentences

  // --- kind text
  std::string_view form = {};  // continues "expected"
  // false: not of the form; config is then unspecified
  bool (*parse_text)(std::string_view text, Config& config) = nullptr;
  std::string (*text_of)(const Config& config) = nullptr;

  // --- numbers
  std::int64_t min = 0, max = 0;  // the smallest and the greatest value allowed
  void (*set_number)(std::int64_t number, Config& config) = nullptr;
  std::int64_t (*number_of)(const Config& config) = nullptr;
};

// Reads `text` into `config`. False: not what expected_form() says; `config` is then unspecified.
bool parse_setting(const Setting& setting, std::string_view text, Config& config);

// The value in `config`, in the form that parse_setting() takes.
std::string value_text(const Setting& setting, const Config& config);

// What a value looks like, e.g. "an integer from 0 to 16".
std::string expected_form(const Setting& setting);

// Visible, without space: what a value that goes into a name or a list may consist of.
bool is_graphic_ascii(char c);

// An absolute path of at most 4095 bytes, as open() takes it.
bool is_absolute_path(std::string_view text);

}  // namespace railweave

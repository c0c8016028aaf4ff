// Sections of the configuration: each library describes its own variables and holds their values in a struct of its
// own.
//
// A library has one ConfigSection, static for the life of the process, and a function that registers the section. The
// library's users call that function before Config::from_environment(). The engine's section is always registered: its
// values are the fields of Config. Other sections keep theirs in Config::of<Values>().
// Threads: any. Source of the shape: UCX's configuration tables (ucs/config/parser.h).
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/config_setting.h"

namespace railweave {

struct ConfigSection {
  std::string_view title;  // a heading of docs/operate/configuration.md
  std::string_view about;  // Markdown, one sentence: which processes read these variables
  std::span<const Setting> settings;
};

// Registering a section a second time changes nothing. REQUIRES: `section` outlives every use of Config.
void register_config_section(const ConfigSection& section);

// The engine's first, then in the order of registration.
std::vector<const ConfigSection*> config_sections();

// All settings of config_sections(), in order.
std::vector<const Setting*> config_settings();

// Variables of libraries that may not be linked into this process. Config::parse() ignores these variables if no
// section has them. tests/unit/info/configuration_page_test.cc compares this list with the sections of all libraries.
std::span<const std::string_view> variables_of_other_libraries();

// Described in engine_settings.cc.
const ConfigSection& engine_section();

}  // namespace railweave

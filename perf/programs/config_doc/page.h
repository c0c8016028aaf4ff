// Generates docs/operate/configuration.md from the configuration sections of all libraries.
#pragma once

#include <string>

namespace railweave::perf {

// Returns the whole page in Markdown.
std::string configuration_page();

}  // namespace railweave::perf

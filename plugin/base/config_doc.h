// docs/operate/configuration.md, out of the config table.
#pragma once

#include <string>

namespace railweave {

// The whole page, Markdown.
std::string config_markdown();

}  // namespace railweave

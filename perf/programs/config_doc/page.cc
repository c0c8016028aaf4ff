#include "config_doc/page.h"

#include <fmt/format.h>

#include "base/config_section.h"
#include "collectives/config/config_section.h"
#include "torch_ext/config/config_section.h"

namespace railweave::perf {
namespace {

constexpr std::string_view kIntroduction = R"(# Configuration

<!-- Generated: railweave-config-doc > docs/operate/configuration.md. A section is the ConfigSection of its library. -->

Railweave is configured by environment variables, read once when an engine starts. Nothing needs to be set. A name that
begins with `RAILWEAVE_` and is not below, or a value that is not of the form given, is an error: the engine does not
start and the log says what was found and what was expected. Names that begin with `NCCL_` mean what they mean in
NCCL. With `NCCL_DEBUG=INFO`, each value that differs from its default is logged.
)";

std::string default_text(const Setting& setting) {
  const std::string value = value_text(setting, Config());
  const std::string quoted = value.empty() ? "empty" : fmt::format("`{}`", value);
  return setting.default_meaning.empty() ? quoted : fmt::format("{} ({})", quoted, setting.default_meaning);
}

}  // namespace

std::string configuration_page() {
  collectives::register_config();
  torch_ext::register_config();
  std::string page(kIntroduction);
  for (const ConfigSection* section : config_sections()) {
    page += fmt::format("\n## {}\n\n{}\n", section->title, section->about);
    for (const Setting& setting : section->settings)
      page += fmt::format("\n### {}\n\n{}\n\n- Value: {}\n- Default: {}\n", setting.name, setting.help,
                          expected_form(setting), default_text(setting));
  }
  return page;
}

}  // namespace railweave::perf

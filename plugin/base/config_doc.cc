#include "base/config_doc.h"

#include <fmt/format.h>

#include "base/config_table.h"

namespace railweave {
namespace {

constexpr std::string_view kIntroduction = R"(# Configuration

<!-- Generated: railweave-config-doc > docs/operate/configuration.md. The table is plugin/base/config_table.cc. -->

Railweave is configured by environment variables, read once when an engine starts. Nothing needs to be set. A name that
begins with `RAILWEAVE_` and is not below, or a value that is not of the form given, is an error: the engine does not
start and the log says what was found and what was expected. Those that begin with `NCCL_` mean what
they mean in NCCL. With `NCCL_DEBUG=INFO`, each value that differs from its default is logged.
)";

std::string default_text(const Setting& setting) {
  const std::string value = value_text(setting, Config());
  const std::string quoted = value.empty() ? "empty" : fmt::format("`{}`", value);
  return setting.default_meaning.empty() ? quoted : fmt::format("{} ({})", quoted, setting.default_meaning);
}

}  // namespace

std::string config_markdown() {
  std::string page(kIntroduction);
  for (const Setting& setting : config_table()) {
    page += fmt::format("\n## {}\n\n{}\n\n- Value: {}\n- Default: {}\n", setting.name, setting.help,
                        expected_form(setting), default_text(setting));
  }
  return page;
}

}  // namespace railweave

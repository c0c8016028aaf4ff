#include "torch_ext/config/config_section.h"

namespace railweave::torch_ext {
namespace {

bool parse_trace(std::string_view text, Config& config) {
  config.of<PythonConfig>().trace = text;
  return true;
}

constexpr Setting kSettings[] = {
    {.name = "RAILWEAVE_TRACE",
     .help =
         "The file to write a trace of the process to (`docs/guide/trace.md`), from its first group to its end, with "
         "`%r` for the rank. Empty: no trace.",
     .form = "a path, or nothing",
     .parse_text = parse_trace,
     .text_of = [](const Config& c) { return c.of<PythonConfig>().trace; }},
};

constexpr ConfigSection kSection{.title = "Python package",
                                 .about = "Read when a process makes its first group, and by nothing else.",
                                 .settings = kSettings};

}  // namespace

void register_config() { register_config_section(kSection); }

}  // namespace railweave::torch_ext

#include "torch_ext/config/config_section.h"

namespace railweave::torch_ext {
namespace {

bool parse_trace(std::string_view text, Config& config) {
  config.of<PythonConfig>().trace = text;
  return true;
}

bool parse_dump_dir(std::string_view text, Config& config) {
  config.of<PythonConfig>().dump_dir = text;
  return text.empty() || is_absolute_path(text);
}

constexpr Setting kSettings[] = {
    {.name = "RAILWEAVE_DUMP_DIR",
     .help =
         "The folder in which each rank writes a dump when one of its process groups fails or exceeds a timeout "
         "(`docs/guide/hung_jobs.md`); `railweave explain` reads the dumps. A missing folder is made. Empty: no dumps.",
     .form = "an absolute path of at most 4095 bytes, or nothing",
     .parse_text = parse_dump_dir,
     .text_of = [](const Config& c) { return c.of<PythonConfig>().dump_dir; }},
    {.name = "RAILWEAVE_TRACE",
     .help =
         "The file to write a trace of the process to (`docs/guide/trace.md`), from its first group to its end, with "
         "`%r` for the rank. Empty: no trace.",
     .form = "a path, or nothing",
     .parse_text = parse_trace,
     .text_of = [](const Config& c) { return c.of<PythonConfig>().trace; }},
};

constexpr ConfigSection kSection{
    .title = "Python package", .about = "Read by the Python package, and by nothing else.", .settings = kSettings};

}  // namespace

void register_config() { register_config_section(kSection); }

}  // namespace railweave::torch_ext

// net_perf's command line.
#pragma once

#include <optional>
#include <string>

#include "common/load_options.h"
#include "common/sizes.h"

namespace railweave::perf::net_perf {

struct Options : LoadOptions {
  std::string plugin_path;  // resolve() fills in the default
  std::string api = "newest";
  std::string log_level = "WARN";
  int device = 0;
  bool verify = false;
  std::string random_text;
  int comms = 1;
  std::uint64_t seed = 1;
  std::string file, output;
  std::optional<std::string> meet_text;  // resolve() parses it into ranks.places

  // Parsed from the texts above by resolve().
  SizeRange range;      // of --random-sizes, else size..size; bytes
  int api_version = 0;  // 0: the newest that the plugin exports

  bool random_sizes() const { return !random_text.empty(); }
  // Parses the texts into the fields above. Errors: invalid_argument.
  Status resolve();
};

void add_options(CLI::App& app, Options& options);

}  // namespace railweave::perf::net_perf

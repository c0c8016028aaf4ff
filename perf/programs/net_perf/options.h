// net_perf's command line.
#pragma once

#include <optional>
#include <string>

#include "common/load_options.h"
#include "common/sizes.h"

namespace railweave::perf::net_perf {

struct Options : LoadOptions {
  std::string plugin_path;  // resolve() fills the default in
  std::string api = "newest";
  std::string log_level = "WARN";
  int device = 0;
  bool verify = false;
  std::string random_text;
  int comms = 1;
  std::uint64_t seed = 1;
  std::string file, output;
  std::optional<std::string> meet_text;  // resolve() makes ranks.places of it

  // From the texts above.
  SizeRange range;      // of --random-sizes, else size..size
  int api_version = 0;  // 0: the newest the plugin exports

  bool random_sizes() const { return !random_text.empty(); }
  // Fills what follows from the texts. Errors: invalid_argument.
  Status resolve();
};

void add_options(CLI::App& app, Options& options);

}  // namespace railweave::perf::net_perf

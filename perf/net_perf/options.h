// net_perf's command line.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "common/rank_pair.h"
#include "common/sizes.h"
#include "common/timed_block.h"

namespace railweave::perf::net_perf {

struct Options {
  RankOptions ranks;
  std::string plugin_path;  // resolve() fills the default in
  std::string api = "newest";
  std::string log_level = "WARN";
  int device = 0;
  std::string mode = "throughput";
  bool both = false, verify = false, progress = false;
  std::string size_text = "1M", sizes_text = "8,4K,64K", bytes_text = "0", random_text;
  double duration_s = 5, warmup_s = 0.5, baseline_s = 0, interval_ms = 50;
  int inflight = 4, comms = 1, iterations = 10000, sleep_us = 0;
  std::uint64_t seed = 1;
  std::string file, output;
  std::vector<std::string> at;
  std::string json_path;

  // From the texts above.
  std::size_t size = 0, bytes = 0;
  SizeRange range;  // of --random-sizes, else size..size
  std::vector<std::size_t> sizes;
  int api_version = 0;  // 0: the newest the plugin exports

  bool random_sizes() const { return !random_text.empty(); }
  // Fills what follows from the texts. Errors: invalid_argument.
  Status resolve();
};

void add_options(CLI::App& app, Options& options);

}  // namespace railweave::perf::net_perf

// raw_tcp's command line.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "common/rank_pair.h"
#include "common/timed_block.h"

namespace railweave::perf::raw_tcp {

struct Options {
  RankOptions ranks;
  std::string mode = "throughput";
  bool both = false, together = false, together_only = false, progress = false;
  std::string rails;
  std::string size_text = "1M", sizes_text = "8,4K,64K", bytes_text = "0", recv_size_text = "0";
  double duration_s = 5, warmup_s = 0.5, baseline_s = 0, interval_ms = 50;
  int inflight = 4;
  int iterations = 10000;
  int sleep_us = 0;
  std::string congestion_control = "cubic";
  int nodelay = 1;
  int send_buffer = 0, receive_buffer = 0;
  std::vector<std::string> at;
  std::string json_path;

  // From the texts above.
  std::size_t size = 0, bytes = 0, recv_size = 0;
  std::vector<std::size_t> sizes;

  // Fills what follows from the texts. Errors: invalid_argument.
  Status resolve();
  BlockPlan block_plan() const;
};

void add_options(CLI::App& app, Options& options);

}  // namespace railweave::perf::raw_tcp

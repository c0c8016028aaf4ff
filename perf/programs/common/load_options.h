// Command-line options that net_perf and raw_tcp share: the load, its length and how it is measured.
#pragma once

#include <string>
#include <vector>

#include "common/rank_pair.h"
#include "common/timed_block.h"
#include "railweave/status.h"

namespace CLI {
class App;
}

namespace railweave::perf {

struct LoadOptions {
  RankOptions ranks;
  std::string mode = "throughput";
  bool both = false, progress = false;
  std::string size_text = "1M", sizes_text = "8,4K,64K", bytes_text;
  double duration_s = 5, warmup_s = 0.5, baseline_s = 0, interval_ms = 50;
  double begin_at_s = 0;  // on CLOCK_MONOTONIC; 0: at once
  int inflight = 4, iterations = 10000, sleep_us = 0;
  std::vector<std::string> at;
  std::string json_path;

  // Parsed from the texts above by resolve_load(); bytes.
  std::size_t size = 0, bytes = 0;
  std::vector<std::size_t> sizes;

  bool counted() const { return bytes > 0; }
  // Has no warm-up and no duration when bytes are counted.
  BlockPlan block_plan() const;
  // Sleeps until --begin-at. Call once everything is connected.
  void wait_to_begin() const;
  // Parses the texts into the fields above. Errors: invalid_argument.
  Status resolve_load();
};

// Adds all options but --inflight, which has another meaning in each program.
void add_load_options(CLI::App& app, LoadOptions& options);

inline Nanos nanos(double seconds) { return Nanos(std::int64_t(seconds * 1e9)); }

}  // namespace railweave::perf

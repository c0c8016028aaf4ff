// The command line: nccl-tests' options, and how the ranks of a run find each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collective/element_names.h"

namespace railweave::perf::collective {

// The place of this process in the run; see launch.h.
struct LaunchOptions {
  int local = 0;  // number of processes to fork; 0: none
  int rank = -1, world_size = 0, local_rank = 0;
  std::string master_address;
  std::uint16_t master_port = 0;
  bool agent_store = false;  // torchrun serves its own store at MASTER_PORT
  double patience_s = 60;
};

struct Options {
  int threads = 1, gpus = 1;  // ranks of a process: their product
  std::size_t min_bytes = 32 << 20, max_bytes = 32 << 20, step_bytes = 1 << 20, step_factor = 1;
  int iterations = 20, warmup = 1, aggregated = 1, cycles = 1, parallel_init = 0, checks = 1;
  std::vector<Reduction> reductions{Reduction::sum};
  std::vector<DataType> types{DataType::float32};
  int root = 0;      // -1: every rank in turn
  int blocking = 0;  // 1: a barrier after each operation
  int timeout_s = 0;
  bool cpu_time = false, timestamps = false, per_iteration = false;
  int average = 1;  // 0: rank 0's, 1: mean, 2: least, 3: greatest
  int unalign = 0;  // elements before the first one
  int skipped = 0;  // iterations that the report of single iterations leaves out
  std::string json_path;
  double min_bandwidth = -1;  // GB/s; -1: not checked
  LaunchOptions launch;

  int ranks_here() const { return threads * gpus; }
  // Returns the size that follows `bytes` in a sweep.
  std::size_t after(std::size_t bytes) const;
};

// Returns nothing if the program should end with `exit_status`: 0 after --help, 2 for an invalid command line, with one
// line on stderr. The text of --help begins with `about`.
std::optional<Options> parse_options(int argc, char** argv, std::string_view about, int& exit_status);

}  // namespace railweave::perf::collective

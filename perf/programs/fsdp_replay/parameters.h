// The parameter file: values of machines with unit and source, models, and published figures with their sources
// (docs/guide/replay.md).
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "fsdp_replay/limiter.h"
#include "railweave/status.h"
#include "railweave/units.h"

namespace railweave::perf::fsdp_replay {

struct ModelShape {
  struct Unit {
    std::string name;
    int count = 1;
    double parameters = 0;
    bool computes = true;        // false: rows are looked up
    double attention_width = 0;  // of scores and of values: heads times their size
  };
  std::vector<Unit> units;         // in the order of forward
  double sequence = 0, batch = 0;  // of a device
  bool recompute = false;          // activations are recomputed in backward
  double flops = 0;                // a second, of a device
  double activation_bytes_per_sample = 0;
};

// Published figures about FSDP's limiters.
struct PublishedScaling {
  struct Case {
    std::string name, published;
    int hosts = 1;
    LimiterKind limiter = LimiterKind::none;
    double batch = 1;
  };
  std::string model;
  Nanos host_step_latency{};
  std::vector<Case> cases;
};
struct PublishedBound {
  double parameters = 0;
  int units = 1, hosts = 2;
  double compute_share = 1;  // share of the time that communication takes alone
  std::string published;
};

struct Parameters {
  std::size_t memory_bytes = 0;
  int ranks_per_host = 1;
  Rate wire, within;
  Nanos host_step_latency{}, within_step_latency{};
  std::size_t segment_bytes = 0;
  int channels_per_class = 2;
  Nanos launch{}, wake{}, synchronize{};
  int limiter_gathers = 2, forward_prefetch = 0, backward_prefetch = 1;
  double bytes_per_parameter = 2, state_bytes_per_parameter = 16;
  std::map<std::string, ModelShape> models;
  PublishedScaling scaling;
  PublishedBound communication_bound;
};

// Errors: invalid_argument, naming the file and the key (a value, model or published figure without a source is an
// error); system if the file cannot be read.
Result<Parameters> read_parameters(const std::string& path);

}  // namespace railweave::perf::fsdp_replay

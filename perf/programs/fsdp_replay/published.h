// The figures published of FSDP's limiters, beside what the replay makes of them (docs/guide/replay.md).
#pragma once

#include <string>
#include <vector>

#include "fsdp_replay/parameters.h"
#include "fsdp_replay/replay.h"

namespace railweave::perf::fsdp_replay {

struct Comparison {
  std::string name, published, replayed;
  int hosts = 1;
  double batch = 0;  // 0: none
  double value = 0;  // what `replayed` says, as a share
  Outcome outcome;
  Trace trace;
};

// On one NCCL communicator: operations in the order of issue, one at a time.
Setting as_nccl(const Ring& ring, LimiterKind limiter);

// Scaling: the time of a step on one host over that on many, with the same limiter and batch. Then the
// communication-bound model: how much longer a step takes with each limiter. Errors: make_trace()'s and replay()'s.
Result<std::vector<Comparison>> compare_published(const Parameters& parameters);

}  // namespace railweave::perf::fsdp_replay

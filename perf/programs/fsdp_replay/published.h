// Compares published figures about FSDP's limiters with the replay's (docs/guide/replay.md).
#pragma once

#include <string>
#include <vector>

#include "fsdp_replay/parameters.h"
#include "fsdp_replay/replay.h"

namespace railweave::perf::fsdp_replay {

struct Comparison {
  std::string name, published, replayed;
  int hosts = 1;
  double batch = 0;  // 0: no batch
  double value = 0;  // the replayed figure as a share
  Outcome outcome;
  Trace trace;
};

// Models one NCCL communicator: operations in the order of issue, one at a time.
Setting as_nccl(const Ring& ring, LimiterKind limiter);

// Compares scaling: a step's time on one host over its time on many, with the same limiter and batch. Then compares the
// communication-bound model: how much longer a step takes with each limiter. Errors: those of make_trace() and
// replay().
Result<std::vector<Comparison>> compare_published(const Parameters& parameters);

}  // namespace railweave::perf::fsdp_replay

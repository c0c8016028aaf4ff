// The steps that a command line selects.
#pragma once

#include <vector>

#include "fsdp_replay/options.h"
#include "fsdp_replay/parameters.h"
#include "fsdp_replay/trace.h"
#include "railweave/status.h"

namespace railweave::perf::fsdp_replay {

struct Step {
  Trace trace;
  int hosts = 1;
};

// Returns each trace on each number of hosts. A model's trace holds the share of the state for that number of hosts.
// Errors: an unknown model; those of read_trace() and make_trace(); those of step_length.h for steps to bound or to
// play.
Result<std::vector<Step>> steps_of(const Options& options, const Parameters& parameters);

}  // namespace railweave::perf::fsdp_replay

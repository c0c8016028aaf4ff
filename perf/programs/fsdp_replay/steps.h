// The steps that a command line names.
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

// Each trace on each number of hosts; made ones keep their share of the state. Errors: a model that is not there;
// read_trace()'s, make_trace()'s; of what is to be bounded or played also step_length.h's.
Result<std::vector<Step>> steps_of(const Options& options, const Parameters& parameters);

}  // namespace railweave::perf::fsdp_replay

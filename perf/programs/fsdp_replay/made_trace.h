// Makes traces from shapes of models for which no recording exists.
#pragma once

#include "fsdp_replay/parameters.h"
#include "fsdp_replay/trace.h"
#include "railweave/status.h"

namespace railweave::perf::fsdp_replay {

// `batch`: samples a device. State is sharded over all ranks of `hosts`. Errors: invalid_argument if a device would
// hold more than a trace may say.
Result<Trace> make_trace(const std::string& name, const ModelShape& model, double batch, int hosts,
                         const Parameters& parameters);

}  // namespace railweave::perf::fsdp_replay

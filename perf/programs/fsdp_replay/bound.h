// A lower bound of a step's time on one wire: the longest path through its graph (docs/guide/replay.md, "The bound").
#pragma once

#include "fsdp_replay/network.h"
#include "fsdp_replay/trace.h"
#include "railweave/units.h"

namespace railweave::perf::fsdp_replay {

// Uses the members and the rate of `ring`, not its latency. REQUIRES: check_length_to_bound() accepts the step.
Nanos bound_of(const Trace& trace, const Ring& ring);

}  // namespace railweave::perf::fsdp_replay

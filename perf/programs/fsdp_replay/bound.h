// How short a step could be on one wire: the longest path through its graph (docs/replay.md, "The bound").
#pragma once

#include "fsdp_replay/network.h"
#include "fsdp_replay/trace.h"
#include "railweave/units.h"

namespace railweave::perf::fsdp_replay {

// Of a step that check_length_to_bound() takes. `ring`: for how much of an operation goes over a member's link, and its rate. Its latency is not counted.
Nanos bound_of(const Trace& trace, const Ring& ring);

}  // namespace railweave::perf::fsdp_replay

// How short a step could be on one wire: the longest path through its graph (docs/guide/replay.md, "The bound").
#pragma once

#include "fsdp_replay/network.h"
#include "fsdp_replay/trace.h"
#include "railweave/units.h"

namespace railweave::perf::fsdp_replay {

// The bound of a step that check_length_to_bound() takes. The members and the rate of `ring` count, its latency does
// not.
Nanos bound_of(const Trace& trace, const Ring& ring);

}  // namespace railweave::perf::fsdp_replay

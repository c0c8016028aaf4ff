// How long a step may be that is computed with, or played.
#pragma once

#include "fsdp_replay/network.h"
#include "fsdp_replay/parameters.h"
#include "fsdp_replay/trace.h"
#include "railweave/status.h"

namespace railweave::perf::fsdp_replay {

inline constexpr double kBoundMost_s = 1e8;   // three years; ten times as much is still a time in Nanos
inline constexpr double kPlayedMost_s = 1e4;  // each millisecond in which an operation is held is an event

// Errors: invalid_argument, for a step that takes longer, one thing after the other; naming the limit.
Status check_length_to_bound(const Trace& trace, const Ring& ring);
// With the CPU thread's time, which is Parameters'.
Status check_length_to_play(const Trace& trace, const Ring& ring, const Parameters& parameters);

}  // namespace railweave::perf::fsdp_replay

// Limits of the length of a step that is bounded or replayed.
#pragma once

#include "fsdp_replay/network.h"
#include "fsdp_replay/parameters.h"
#include "fsdp_replay/trace.h"
#include "railweave/status.h"

namespace railweave::perf::fsdp_replay {

inline constexpr double kBoundMost_s = 1e8;   // three years; ten times as much still fits Nanos
inline constexpr double kPlayedMost_s = 1e4;  // each millisecond in which an operation is held is an event

// Errors: invalid_argument, naming the limit, if the step would take longer with all its parts one after the other.
Status check_length_to_bound(const Trace& trace, const Ring& ring);
// Includes the CPU thread's time from `parameters`.
Status check_length_to_play(const Trace& trace, const Ring& ring, const Parameters& parameters);

}  // namespace railweave::perf::fsdp_replay

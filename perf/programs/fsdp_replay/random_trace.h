// Makes random traces, to find steps for which a policy is bad.
#pragma once

#include <cstdint>

#include "fsdp_replay/trace.h"

namespace railweave::perf::fsdp_replay {

// Equal for equal seeds, but for the last digits of different libms. Has 3 to 40 layers that gather 64 KiB to 1 GiB,
// most of them alike. Computing takes a quarter to twenty times as long as one copy of the gathered bytes over `wire`;
// a layer's share varies by half.
Trace random_trace(std::uint64_t seed, Rate wire);

}  // namespace railweave::perf::fsdp_replay

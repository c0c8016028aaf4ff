// Traces made by chance, to look for steps that a policy is bad at.
#pragma once

#include <cstdint>

#include "fsdp_replay/trace.h"

namespace railweave::perf::fsdp_replay {

// The same for the same seed (but for the last digits of libms): 3 to 40 layers that gather 64 KiB to 1 GiB, most
// alike; computing takes a quarter to twenty times what one copy of the gathered bytes over `wire` would, a layer's
// share half as much more or less.
Trace random_trace(std::uint64_t seed, Rate wire);

}  // namespace railweave::perf::fsdp_replay

// Conversions between Nanos and seconds, as people and JSON have them.
#pragma once

#include <algorithm>
#include <cmath>

#include "railweave/units.h"

namespace railweave::perf::fsdp_replay {

inline double in_seconds(Nanos time) { return double(time.count()) / 1e9; }
// Cuts at 1e9 seconds (thirty years), so that the sum of two fits Nanos.
inline Nanos from_seconds(double seconds) { return Nanos(std::llround(std::min(seconds, 1e9) * 1e9)); }

}  // namespace railweave::perf::fsdp_replay

// Seconds, as people and JSON have them.
#pragma once

#include <algorithm>
#include <cmath>

#include "railweave/units.h"

namespace railweave::perf::fsdp_replay {

inline double in_seconds(Nanos time) { return double(time.count()) / 1e9; }
// What is beyond thirty years is as long: no sum of two is beyond Nanos.
inline Nanos from_seconds(double seconds) { return Nanos(std::llround(std::min(seconds, 1e9) * 1e9)); }

}  // namespace railweave::perf::fsdp_replay

// Seconds, as people and JSON have them.
#pragma once

#include <cmath>

#include "railweave/units.h"

namespace railweave::perf::fsdp_replay {

inline double in_seconds(Nanos time) { return double(time.count()) / 1e9; }
inline Nanos from_seconds(double seconds) { return Nanos(std::llround(seconds * 1e9)); }

}  // namespace railweave::perf::fsdp_replay

// Resource use of this process and this machine so far, and a description of the machine. Values are snapshots;
// subtract two of them for a block.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "railweave/units.h"

namespace railweave::perf {

struct CpuUse {
  double user_s = 0, system_s = 0;  // this process, all threads (getrusage)
  double machine_busy_s = 0;        // all cores: everything but idle, iowait and steal (/proc/stat, 10 ms steps)
};
CpuUse cpu_use();
CpuUse operator-(const CpuUse& later, const CpuUse& earlier);

// Sleeps for `seconds` and returns how many cores the machine kept busy meanwhile (1: one core). Returns 0 for 0
// seconds.
double measure_background_share(double seconds);

// Returns VmHWM: the largest resident memory of this process so far.
double memory_high_water_mib();

// Returns the number of network sockets of this process, IPv4 and IPv6.
int open_sockets();

// Returns {"host", "kernel", "cpu", "cores"}.
nlohmann::json machine_description();

}  // namespace railweave::perf

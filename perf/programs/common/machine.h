// What this process and this machine have used so far, and what the machine is. Snapshots; subtract two for a block.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "railweave/units.h"

namespace railweave::perf {

struct CpuUse {
  double user_s = 0, system_s = 0;  // of this process, all threads (getrusage)
  double machine_busy_s = 0;        // of all cores: everything but idle, iowait and steal (/proc/stat, 10 ms steps)
};
CpuUse cpu_use();
CpuUse operator-(const CpuUse& later, const CpuUse& earlier);

// Share of one core that the machine is busy with while this process sleeps for `seconds`; 0 for 0 seconds.
double measure_background_share(double seconds);

// VmHWM: the most memory this process has had resident.
double memory_high_water_mib();

// Network sockets of this process: IPv4 and IPv6.
int open_sockets();

// {"host", "kernel", "cpu", "cores"}.
nlohmann::json machine_description();

}  // namespace railweave::perf

// How much memory this process may still take without being killed for it.
#pragma once

#include <cstddef>
#include <string>

namespace railweave::perf {

// The least of: what the machine has to give (MemAvailable), what the control groups of this process have left
// (memory.max of version 2, memory.limit_in_bytes of version 1), and what RLIMIT_AS leaves. SIZE_MAX where nothing is
// known. `root`: in front of /proc and /sys.
std::size_t free_memory_bytes(const std::string& root = "");

}  // namespace railweave::perf

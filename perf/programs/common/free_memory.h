// How much memory this process may still take without being killed for it.
#pragma once

#include <cstddef>
#include <string>

namespace railweave::perf {

// Returns bytes: the least of MemAvailable of the machine, the rest in this process's control groups (memory.max of
// version 2, memory.limit_in_bytes of version 1), and the rest under RLIMIT_AS. SIZE_MAX if no limit is known. `root`
// is put in front of /proc and /sys.
std::size_t free_memory_bytes(const std::string& root = "");

}  // namespace railweave::perf

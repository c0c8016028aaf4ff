// What the verbs wire takes from this host: the library, the kernel's folders and the limit for pinned memory. Tests
// put a fake host in its place. Plain values. Threads: any.
#pragma once

#include <cstdint>
#include <string>

#include "wire/verbs/api.h"
#include "wire/verbs/pin_limit.h"

namespace railweave::wire::verbs {

struct VerbsHost {
  const Api* api = nullptr;                               // outlives every device; never null
  std::string sysfs = "/sys/class/infiniband";            // the kernel's RDMA devices
  std::string device_files = "/dev/infiniband";           // the files by which a process uses the devices
  std::uint64_t memlock_bytes = PinnedBytes::kUnbounded;  // RLIMIT_MEMLOCK, where the limit binds this process
};

// Returns the host of this process.
VerbsHost this_host(const Api& api);

}  // namespace railweave::wire::verbs

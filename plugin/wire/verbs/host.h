// What the verbs wire takes from this host: the library, the kernel's folders and the limit for pinned memory. Tests
// put a fake host in its place. Plain values. Threads: any.
#pragma once

#include <cstdint>
#include <string>

#include "wire/verbs/api.h"

namespace railweave::wire::verbs {

struct VerbsHost {
  const Api* api = nullptr;                      // outlives every device; never null
  std::string sysfs = "/sys/class/infiniband";   // the kernel's RDMA devices
  std::string device_files = "/dev/infiniband";  // the files by which a process uses the devices
  // RLIMIT_MEMLOCK of this process, bytes; kUnlimited: no limit
  std::uint64_t memlock_bytes = kUnlimited;

  static constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};
};

// Returns the host of this process.
VerbsHost this_host(const Api& api);

}  // namespace railweave::wire::verbs

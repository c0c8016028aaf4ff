// Reads the GID table of a device: by a call of libibverbs or, where the library is too old, from sysfs. The kernel
// answers from memory, so the device is not asked. Threads: any. Errors: an entry that cannot be read is left out.
#pragma once

#include <string>
#include <vector>

#include "wire/verbs/api.h"
#include "wire/verbs/gid.h"

namespace railweave::wire::verbs {

// `sysfs`: the folder of the kernel's RDMA devices. `device`: the device's name.
std::vector<GidEntry> read_gid_table(const Api& api, ibv_context* context, const std::string& sysfs,
                                     const std::string& device);
// The same from sysfs only. A slot without GID, and a GID whose type cannot be read, is no entry.
std::vector<GidEntry> read_gid_table_of_sysfs(const std::string& sysfs, const std::string& device);

}  // namespace railweave::wire::verbs

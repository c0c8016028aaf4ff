// The limit of the memory that this process may pin.
#pragma once

#include <cstdint>
#include <string_view>

#include "wire/port.h"

namespace railweave::wire::verbs {

// Returns RLIMIT_MEMLOCK in bytes; PinnedBytes::kUnbounded: no limit binds this process.
std::uint64_t pin_limit_bytes();

// True: the limit does not bind a process whose files in /proc/self have these texts. The process has CAP_IPC_LOCK, and
// its user namespace is the host's: the kernel asks for the capability there (linux: drivers/infiniband/core/umem.c,
// capable()). A container's root thus is bound, unless the container has the capability and the host's users.
bool may_pin_without_limit(std::string_view status, std::string_view uid_map);

}  // namespace railweave::wire::verbs

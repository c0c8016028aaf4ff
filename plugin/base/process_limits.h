// Limits that the system sets this process, and hints for messages that name the setting to change. Threads: any.
// Functions throw nothing but bad_alloc.
#pragma once

#include <cstddef>
#include <string>
#include <system_error>

#include "railweave/status.h"

namespace railweave {

// Returns how many descriptors this process may still open. 0 also where no descriptor is left to count them with;
// SIZE_MAX without /proc.
std::size_t descriptors_left();
// Returns " (this process may have 1024: ulimit -n)" for EMFILE (no descriptors), else empty.
std::string descriptor_hint(int err);
// Returns " (RAILWEAVE_PORTS: ...)" for EACCES (a port for privileged processes only), else empty.
std::string port_hint(int err);
// Returns the error for a thread that could not be started: Code::exhausted. The message names the limits that may be
// the cause.
Status no_thread(const std::system_error& why);

}  // namespace railweave

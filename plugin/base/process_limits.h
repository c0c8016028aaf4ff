// What the system lets this process have, in the words of whoever can change it. Threads: any. Nothing throws but
// bad_alloc.
#pragma once

#include <cstddef>
#include <string>
#include <system_error>

#include "railweave/status.h"

namespace railweave {

// How many descriptors this process may still open; 0 too where that cannot be counted for want of one.
std::size_t descriptors_left();
// " (this process may have 1024: ulimit -n)" where `err` says that there are no descriptors (EMFILE), else empty.
std::string descriptor_hint(int err);
// " (RAILWEAVE_PORTS: ...)" where `err` says that a port is for privileged processes (EACCES), else empty.
std::string port_hint(int err);
// A thread could not be started. Code::exhausted; the message names the limits that may be the cause.
Status no_thread(const std::system_error& why);

}  // namespace railweave

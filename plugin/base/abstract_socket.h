// Unix stream sockets with abstract names. A name belongs to its network namespace, is not in the file system, and
// vanishes with the listener's last descriptor.
// Descriptors are non-blocking and CLOEXEC; no function waits. Threads: any.
// Errors: Code::invalid_argument for a name of 0 bytes or of more than 107 bytes.
#pragma once

#include <string>

#include "base/fd.h"
#include "railweave/status.h"

namespace railweave {

// Returns a listening socket, backlog 1024. Errors: system; EADDRINUSE if the name is in use.
Result<OwnedFd> listen_abstract(const std::string& name);
// Returns a connected socket. Errors: Code::remote if no process listens (ECONNREFUSED) or the listener's backlog is
// full (EAGAIN); system without descriptors.
Result<OwnedFd> dial_abstract(const std::string& name);

}  // namespace railweave

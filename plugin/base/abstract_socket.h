// Unix stream sockets under abstract names: a name belongs to its network namespace, stands in no file system and goes
// with its last descriptor.
// Descriptors are non-blocking and CLOEXEC; nothing here waits. Threads: any.
// Errors: Code::invalid_argument for a name of no bytes or of more than 107.
#pragma once

#include <string>

#include "base/fd.h"
#include "railweave/status.h"

namespace railweave {

// Errors: system; in use is one (EADDRINUSE).
Result<OwnedFd> listen_abstract(const std::string& name);
// Connected at once. Errors: Code::remote when nobody listens (ECONNREFUSED), or cannot take more just now (EAGAIN).
Result<OwnedFd> dial_abstract(const std::string& name);

}  // namespace railweave

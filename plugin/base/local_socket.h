// Unix stream sockets between processes of one host (base/abstract_socket.h): who is there, and passing descriptors.
// All descriptors are non-blocking and CLOEXEC; nothing here waits. Threads: any; a descriptor by one thread at a time.
#pragma once

#include <cstddef>
#include <span>

#include "base/fd.h"
#include "railweave/status.h"

namespace railweave {

// None: nobody waits. Errors: Code::exhausted without descriptors or memory, system.
Result<OwnedFd> accept_local(int listener);

// Checks the user of the process at the other end. Errors: Code::remote when it runs as another user than we do, naming
// both.
Status check_same_user(int fd);

// Sends `bytes` with a descriptor attached to the first of them. Bytes sent, or -1 with errno.
ssize_t send_with_fd(int fd, std::span<const std::byte> bytes, int passed);
// Receives into `bytes`; a descriptor that came along goes to `passed`, unless one came before. As recv.
ssize_t recv_with_fd(int fd, std::span<std::byte> bytes, OwnedFd& passed);

}  // namespace railweave

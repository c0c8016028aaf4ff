// Unix stream sockets between processes of one host (base/abstract_socket.h): accept, check the peer's user, pass
// descriptors. All descriptors are non-blocking and CLOEXEC; no function waits. Threads: any; a descriptor by one
// thread at a time.
#pragma once

#include <cstddef>
#include <span>

#include "base/fd.h"
#include "railweave/status.h"

namespace railweave {

// Accepts a connection; an empty OwnedFd: no connection waits. Errors: Code::exhausted without descriptors or memory,
// system.
Result<OwnedFd> accept_local(int listener);

// Checks that the process at the other end runs as this process's effective user. Errors: Code::remote if not, naming
// both users; system.
Status check_same_user(int fd);

// Sends `bytes` with the descriptor `passed` attached to the first byte. Returns the bytes sent, or -1 with errno.
// `passed` stays the caller's.
ssize_t send_with_fd(int fd, std::span<const std::byte> bytes, int passed);
// Receives into `bytes`, and returns as recv(). A received descriptor goes into `passed` if `passed` is empty; further
// ones are closed.
ssize_t recv_with_fd(int fd, std::span<std::byte> bytes, OwnedFd& passed);

}  // namespace railweave

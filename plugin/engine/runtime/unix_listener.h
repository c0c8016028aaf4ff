// A listener for processes of this host and this user. The socket is abstract, so a process that connects is in the
// same network namespace. Threads: the reactor's, except for open().
#pragma once

#include <functional>
#include <string>

#include "base/fd.h"
#include "engine/runtime/accept_loop.h"
#include "engine/runtime/reactor.h"
#include "railweave/status.h"

namespace railweave::engine {

class UnixListener final {
 public:
  // `fd` is connected and non-blocking; the process at the other end has our user.
  using OnConnection = std::function<void(OwnedFd fd)>;

  explicit UnixListener(Reactor& reactor) : accept_loop_(reactor, logged_failure_) {}
  ~UnixListener() { close(); }

  // Takes the abstract name; connections wait until serve(). Errors: invalid_argument for a name of 0 bytes or of more
  // than 107 bytes; system, also if another process has the name (EADDRINUSE).
  Status open(const std::string& name);
  // Accepts connections from now on. No effect if open() failed. Errors: system; the listener is closed then, and
  // connections are refused.
  Status serve(OnConnection on_connection);
  bool is_open() const { return bool(fd_); }
  // Stops accepting; connections are refused from then on.
  void close();

 private:
  Result<bool> accept_one();

  OnConnection on_connection_;
  std::string name_;
  OwnedFd fd_;
  bool logged_failure_ = false;  // the accept loop's
  AcceptLoop accept_loop_;
};

}  // namespace railweave::engine

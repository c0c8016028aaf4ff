// A listener for processes of this host and this user. The socket is abstract, so a process that connects is in the
// same network namespace. Threads: the reactor's, except for open().
#pragma once

#include <functional>
#include <string>

#include "base/fd.h"
#include "engine/runtime/reactor.h"
#include "railweave/status.h"

namespace railweave::engine {

class UnixListener final : private Pollable {
 public:
  // `fd` is connected and non-blocking; the process at the other end has our user.
  using OnConnection = std::function<void(OwnedFd fd)>;

  explicit UnixListener(Reactor& reactor) : reactor_(reactor) {}
  ~UnixListener() { close(); }

  // Takes the abstract name; connections wait until serve(). Errors: system, also if another process has the name
  // (EADDRINUSE).
  Status open(const std::string& name);
  // Accepts connections from now on. No effect if open() failed. Errors: system; the listener is closed then, and
  // connections are refused.
  Status serve(OnConnection on_connection);
  bool is_open() const { return bool(fd_); }
  // Stops accepting; connections are refused from then on.
  void close();

 private:
  void on_ready(std::uint32_t) override { accept_all(); }
  void accept_all();

  Reactor& reactor_;
  OnConnection on_connection_;
  OwnedFd fd_;
  bool warned_exhausted_ = false;
  Reactor::TimerId timer_ = 0;  // retries while descriptors are exhausted; 0: not set
};

}  // namespace railweave::engine

// A listener for processes of this host and this user: an abstract socket, so a process that connects shares the
// network namespace. On the reactor's thread, except open().
#pragma once

#include <functional>
#include <string>

#include "base/fd.h"
#include "engine/runtime/reactor.h"
#include "railweave/status.h"

namespace railweave::engine {

class UnixListener final : private Pollable {
 public:
  // `fd` is connected, non-blocking, and of a process of our own user.
  using OnConnection = std::function<void(OwnedFd fd)>;

  explicit UnixListener(Reactor& reactor) : reactor_(reactor) {}
  ~UnixListener() { close(); }

  // Takes the abstract name; connections wait until serve(). Errors: system, another process has the name among them.
  Status open(const std::string& name);
  // Nothing where open() failed. Errors: system; then the listener is closed, and connections are refused.
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
  Reactor::TimerId timer_ = 0;  // set while descriptors are exhausted
};

}  // namespace railweave::engine

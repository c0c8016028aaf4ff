// Where peers of this host come in (docs/internals/shm.md): an abstract socket named by the instance, so that who reaches it shares
// the network namespace, and who completes the handshake there is on the host. On the reactor's thread, except open().
#pragma once

#include <functional>
#include <string>

#include "base/fd.h"
#include "engine/connect/handle.h"
#include "engine/runtime/reactor.h"
#include "railweave/status.h"

namespace railweave::engine {

// The name that an instance listens at.
std::string local_name(const InstanceId& instance);

class UnixListener final : private Pollable {
 public:
  // `fd` is connected, non-blocking, and of a process of our own user.
  using OnConnection = std::function<void(OwnedFd fd)>;

  explicit UnixListener(Reactor& reactor) : reactor_(reactor) {}
  ~UnixListener() { close(); }

  // Errors: system. Then nobody comes in here, and that is all.
  Status open(const InstanceId& instance);
  void serve(OnConnection on_connection);
  // Stops accepting; nobody connects any more.
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

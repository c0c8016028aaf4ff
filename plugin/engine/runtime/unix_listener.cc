#include "engine/runtime/unix_listener.h"

#include <fmt/format.h>

#include <utility>

#include "base/abstract_socket.h"
#include "base/error.h"
#include "base/local_socket.h"
#include "base/log.h"
#include "engine/runtime/fork_guard.h"

namespace railweave::engine {

Status UnixListener::open(const std::string& name) {
  name_ = name;
  RW_ASSIGN_OR_RETURN(fd_, listen_abstract(name));
  guard_descriptor(fd_.get());
  return {};
}

Status UnixListener::serve(OnConnection on_connection) {
  if (!fd_) return {};
  on_connection_ = std::move(on_connection);
  Status status =
      accept_loop_.open(fd_.get(), fmt::format("@{}: accepts no connection", name_), [this] { return accept_one(); });
  if (!status.ok()) close();
  return status;
}

void UnixListener::close() {
  accept_loop_.close();
  if (!fd_) return;
  release_descriptor(fd_.get());
  fd_.reset();
}

Result<bool> UnixListener::accept_one() {
  RW_ASSIGN_OR_RETURN(OwnedFd accepted, accept_local(fd_.get()));
  if (!accepted) return false;
  if (const Status s = check_same_user(accepted.get()); s.ok())
    on_connection_(std::move(accepted));
  else
    RW_INFO(net, "@{}: rejected a connection: {}", name_, s.message());
  return true;
}

}  // namespace railweave::engine

#include "engine/runtime/unix_listener.h"

#include <sys/epoll.h>

#include <utility>

#include "base/abstract_socket.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/local_socket.h"
#include "base/log.h"
#include "base/scope_exit.h"
#include "engine/runtime/fork_guard.h"

namespace railweave::engine {
namespace {

constexpr Nanos kRetryExhausted = std::chrono::milliseconds(100);
constexpr int kAcceptsPerTurn = 64;

}  // namespace

Status UnixListener::open(const std::string& name) {
  RW_ASSIGN_OR_RETURN(fd_, listen_abstract(name));
  guard_descriptor(fd_.get());
  return {};
}

Status UnixListener::serve(OnConnection on_connection) {
  if (!fd_) return {};
  on_connection_ = std::move(on_connection);
  Status status = reactor_.add(fd_.get(), *this, EPOLLIN);
  if (!status.ok()) close();
  return status;
}

void UnixListener::close() {
  if (timer_) reactor_.cancel(std::exchange(timer_, 0));
  if (!fd_) return;
  reactor_.remove(fd_.get(), *this);
  release_descriptor(fd_.get());
  fd_.reset();
}

void UnixListener::accept_all() {
  ScopeExit rearm([this] { reactor_.arm(fd_.get(), *this, EPOLLIN); });  // also if a connection throws std::bad_alloc
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    Result<OwnedFd> accepted = accept_local(fd_.get());
    if (!accepted.ok()) {
      if (!std::exchange(warned_exhausted_, true)) RW_WARN(net, "{}", accepted.status().message());
      timer_ = reactor_.at(now() + kRetryExhausted, [this] {
        timer_ = 0;
        reactor_.arm(fd_.get(), *this, EPOLLIN);
      });
      return rearm.dismiss();
    }
    if (!*accepted) break;
    warned_exhausted_ = false;
    if (Status s = check_same_user(accepted->get()); s.ok()) {
      on_connection_(std::move(*accepted));
    } else {
      RW_INFO(net, "rejected {}", s.message());
    }
  }
}

}  // namespace railweave::engine

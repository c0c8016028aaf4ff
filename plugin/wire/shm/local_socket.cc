#include "wire/shm/local_socket.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace railweave::wire::shm {
namespace {

constexpr int kBacklog = 1024;

struct AbstractName {
  sockaddr_un address{};
  socklen_t size = 0;

  explicit AbstractName(const std::string& name) {
    assert(!name.empty() && name.size() < sizeof address.sun_path);
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name.data(), name.size());  // behind a zero: in no file system
    size = socklen_t(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

OwnedFd make_socket() { return OwnedFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)); }

bool is_exhausted(int err) { return err == EMFILE || err == ENFILE || err == ENOBUFS || err == ENOMEM; }

}  // namespace

Result<OwnedFd> listen_local(const std::string& name) {
  OwnedFd fd = make_socket();
  if (!fd) return system_error(Scope::engine, "socket AF_UNIX");
  const AbstractName to(name);
  if (::bind(fd.get(), to.get(), to.size) != 0) return system_error(Scope::engine, "bind to @" + name);
  if (::listen(fd.get(), kBacklog) != 0) return system_error(Scope::engine, "listen at @" + name);
  return fd;
}

Result<OwnedFd> accept_local(int listener) {
  for (;;) {
    OwnedFd fd(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd) return fd;
    const int err = errno;
    if (err == EAGAIN) return OwnedFd();
    if (err == EINTR || err == ECONNABORTED) continue;
    const Status status = system_error(Scope::engine, "accept of a local connection", err);
    return is_exhausted(err) ? Status(Code::exhausted, Scope::engine, std::string(status.message()), err) : status;
  }
}

Result<OwnedFd> dial_local(const std::string& name) {
  OwnedFd fd = make_socket();
  if (!fd) return system_error(Scope::lane, "socket AF_UNIX");
  const AbstractName to(name);
  if (::connect(fd.get(), to.get(), to.size) == 0) return fd;
  const int err = errno;
  return Status(Code::remote, Scope::lane, std::string(system_error(Scope::lane, "connect to @" + name, err).message()),
                err);
}

Status check_same_user(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
    return system_error(Scope::lane, "getsockopt SO_PEERCRED");
  if (peer.uid == ::geteuid()) return Status();
  return Status(Code::remote, Scope::lane,
                "pid " + std::to_string(peer.pid) + " runs as user " + std::to_string(peer.uid) +
                    ", expected our own, " + std::to_string(::geteuid()));
}

ssize_t send_with_fd(int fd, std::span<const std::byte> bytes, int passed) {
  iovec piece{const_cast<std::byte*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* const c = CMSG_FIRSTHDR(&message);
  c->cmsg_level = SOL_SOCKET;
  c->cmsg_type = SCM_RIGHTS;
  c->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(c), &passed, sizeof passed);
  return ::sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

ssize_t recv_with_fd(int fd, std::span<std::byte> bytes, OwnedFd& passed) {
  iovec piece{bytes.data(), bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t n = ::recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (n < 0) return n;
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int each;
      std::memcpy(&each, CMSG_DATA(c) + i * sizeof each, sizeof each);
      OwnedFd owned(each);  // one too many is closed
      if (!passed) passed = std::move(owned);
    }
  }
  return n;
}

}  // namespace railweave::wire::shm

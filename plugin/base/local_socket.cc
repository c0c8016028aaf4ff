#include "base/local_socket.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "base/error.h"

namespace railweave {
namespace {

bool is_exhausted(int err) { return err == EMFILE || err == ENFILE || err == ENOBUFS || err == ENOMEM; }

}  // namespace

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
      OwnedFd owned(each);  // closes a second descriptor
      if (!passed) passed = std::move(owned);
    }
  }
  return n;
}

}  // namespace railweave

#include "base/named_socket.h"

#include <errno.h>
#include <fmt/core.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <thread>

#include "base/clock.h"
#include "base/error.h"

namespace railweave {
namespace {

constexpr Nanos kRetryEvery = std::chrono::milliseconds(20);
constexpr Nanos kOneAttempt = std::chrono::seconds(2);

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Result<Addresses> resolve(const std::string& host, std::uint16_t port, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) return Status(Code::invalid_argument, Scope::engine, "address '" + host + "': " + ::gai_strerror(error));
  return Addresses(found, &::freeaddrinfo);
}

// Two connecting ends of one socket: what comes of trying a port of this host that nobody listens on, now and then.
bool connected_to_itself(int socket) {
  sockaddr_storage here{}, there{};
  socklen_t here_bytes = sizeof here, there_bytes = sizeof there;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&here), &here_bytes);
  ::getpeername(socket, reinterpret_cast<sockaddr*>(&there), &there_bytes);
  return here_bytes == there_bytes && std::memcmp(&here, &there, here_bytes) == 0;
}

Result<OwnedFd> attempt(const addrinfo& where, Nanos patience) {
  OwnedFd fd(::socket(where.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return system_error(Scope::engine, "socket");
  if (::connect(fd.get(), where.ai_addr, where.ai_addrlen) != 0 && errno != EINPROGRESS) return system_error(Scope::engine, "connect");
  pollfd ready{fd.get(), POLLOUT, 0};
  if (::poll(&ready, 1, int(std::max<std::int64_t>(1, patience / std::chrono::milliseconds(1)))) <= 0)
    return Status(Code::timed_out, Scope::engine, "connect: no answer");
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error == 0 && connected_to_itself(fd.get())) error = ECONNREFUSED;
  if (error != 0) return system_error(Scope::engine, "connect", error);
  const int on = 1;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

}  // namespace

Result<OwnedFd> listen_at(const std::string& host, std::uint16_t port, std::uint16_t& served) {
  RW_ASSIGN_OR_RETURN(const Addresses where, resolve(host, port, AI_PASSIVE));
  const std::string place = fmt::format("{}:{}", host, port);
  OwnedFd fd(::socket(where->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return system_error(Scope::engine, "socket");
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(fd.get(), where->ai_addr, where->ai_addrlen) != 0) return system_error(Scope::engine, "bind to " + place);
  if (::listen(fd.get(), SOMAXCONN) != 0) return system_error(Scope::engine, "listen at " + place);
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&bound), &size);
  served = ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(bound).sin6_port
                                             : reinterpret_cast<sockaddr_in&>(bound).sin_port);
  return fd;
}

Result<OwnedFd> connect_to(const std::string& host, std::uint16_t port, Nanos timeout) {
  const TimePoint give_up = now() + timeout;
  RW_ASSIGN_OR_RETURN(const Addresses where, resolve(host, port, 0));
  for (;;) {
    Status last;
    for (const addrinfo* a = where.get(); a != nullptr; a = a->ai_next) {
      auto fd = attempt(*a, std::min<Nanos>(kOneAttempt, std::max<Nanos>(give_up - now(), Nanos(1))));
      if (fd.ok()) return fd;
      last = fd.status();
    }
    if (now() >= give_up)
      return Status(Code::timed_out, Scope::engine,
                    fmt::format("nobody at {}:{} within {:g} s: {}", host, port, double(timeout.count()) / 1e9, last.message()));
    std::this_thread::sleep_for(kRetryEvery);
  }
}

}  // namespace railweave

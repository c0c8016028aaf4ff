#include "base/named_socket.h"

#include <errno.h>
#include <fmt/core.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string_view>
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
  if (error != 0)
    return Status(Code::invalid_argument, Scope::engine, "address '" + host + "': " + ::gai_strerror(error));
  return Addresses(found, &::freeaddrinfo);
}

bool is_address(const std::string& host) { return resolve(host, 0, AI_NUMERICHOST).ok(); }

// True for the names that mean this host only: those of RFC 6761, and those in /etc/hosts of distributions.
bool is_localhost(std::string_view host) {
  constexpr std::array<std::string_view, 5> kNames{"localhost", "localhost4", "localhost6", "ip6-localhost",
                                                   "ip6-loopback"};
  return host.ends_with(".localhost") || std::ranges::find(kNames, host.substr(0, host.find('.'))) != kNames.end();
}

bool is_loopback(const sockaddr& address) {
  if (address.sa_family == AF_INET6)
    return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
  return address.sa_family == AF_INET &&
         ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr) >> 24 == 127;
}

std::string text_of(const addrinfo& where) {
  std::array<char, NI_MAXHOST> text{};
  return ::getnameinfo(where.ai_addr, where.ai_addrlen, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) == 0
             ? text.data()
             : "?";
}

// Returns the hint that `host` resolves to loopback only, so that no other host is reached. Empty: an address leads off
// this host.
std::string hint_at_loopback(const std::string& host, const addrinfo& where) {
  for (const addrinfo* a = &where; a != nullptr; a = a->ai_next)
    if (!is_loopback(*a->ai_addr)) return {};
  if (is_address(host) || is_localhost(host))
    return " (an address of this host alone: ranks on other hosts need one of rank 0's host)";
  return fmt::format(
      " (on this host '{}' is {}, which leads to this host alone. If rank 0 is on another host, remove that line from "
      "/etc/hosts, or give an address of rank 0's host)",
      host, text_of(where));
}

Result<OwnedFd> new_listener(int family) {
  OwnedFd fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return system_error(Scope::engine, "socket");
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  return fd;
}

Status begin_to_listen(int fd, const sockaddr* at, socklen_t size, const std::string& place) {
  if (::bind(fd, at, size) != 0) return system_error(Scope::engine, "bind to " + place);
  if (::listen(fd, SOMAXCONN) != 0) return system_error(Scope::engine, "listen at " + place);
  return {};
}

Result<OwnedFd> listen_there(const addrinfo& where, const std::string& place) {
  RW_ASSIGN_OR_RETURN(OwnedFd fd, new_listener(where.ai_family));
  RW_TRY(begin_to_listen(fd.get(), where.ai_addr, where.ai_addrlen, place));
  return fd;
}

// Listens at any address of both families; of IPv4 only, if the kernel has no IPv6.
Result<OwnedFd> listen_anywhere(std::uint16_t port, const std::string& place) {
  if (Result<OwnedFd> both = new_listener(AF_INET6); both.ok()) {
    const int off = 0;
    ::setsockopt(both->get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6;
    any.sin6_port = htons(port);
    RW_TRY(begin_to_listen(both->get(), reinterpret_cast<const sockaddr*>(&any), sizeof any, place));
    return both;
  }
  RW_ASSIGN_OR_RETURN(OwnedFd fd, new_listener(AF_INET));
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_port = htons(port);
  RW_TRY(begin_to_listen(fd.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any, place));
  return fd;
}

// True if the socket is connected to itself (TCP simultaneous open). This may happen at connect() to an ephemeral port
// of this host that has no listener.
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
  if (::connect(fd.get(), where.ai_addr, where.ai_addrlen) != 0 && errno != EINPROGRESS)
    return system_error(Scope::engine, "connect");
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
  RW_ASSIGN_OR_RETURN(
      OwnedFd fd, is_address(host) || is_localhost(host) ? listen_there(*where, place) : listen_anywhere(port, place));
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
                    fmt::format("nobody at {}:{} within {:g} s: {}{}", host, port, double(timeout.count()) / 1e9,
                                last.message(), hint_at_loopback(host, *where)));
    std::this_thread::sleep_for(kRetryEvery);
  }
}

}  // namespace railweave

#include "wire/bootstrap/socket.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include <fmt/format.h>
#include "base/address_text.h"
#include "base/errno_text.h"
#include "base/error.h"
#include "base/process_limits.h"

namespace railweave::wire {
namespace {

constexpr int kBacklog = 1024;
constexpr std::uint16_t kAnyPort = 9;  // any port: connect() on a datagram socket sends nothing
constexpr int kKeepProbes = 10;        // at most this many within peer_timeout

Status set_int(int fd, int level, int name, int value, const char* what) {
  if (::setsockopt(fd, level, name, &value, sizeof value) == 0) return Status();
  return system_error(Scope::lane, fmt::format("setsockopt {} = {}", what, value));
}

// Returns one line of a file under /proc/sys; empty if the file cannot be read.
std::string sysctl_line(const char* path) {
  OwnedFd fd(::open(path, O_RDONLY | O_CLOEXEC));
  char text[512];
  const ssize_t n = fd ? ::read(fd.get(), text, sizeof text) : 0;
  std::string line(text, n > 0 ? std::size_t(n) : 0);
  while (!line.empty() && line.back() == '\n') line.pop_back();
  return line;
}

Status set_congestion_control(int fd, const std::string& name) {
  if (::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name.data(), socklen_t(name.size())) == 0) return Status();
  const int err = errno;
  return Status(
      Code::invalid_config, Scope::engine,
      fmt::format(
          "RAILWEAVE_TCP_CONGESTION: congestion control '{}' refused: {} (errno {}); the kernel offers '{}', of which "
          "unprivileged processes may choose '{}'",
          name, errno_text(err), err, sysctl_line("/proc/sys/net/ipv4/tcp_available_congestion_control"),
          sysctl_line("/proc/sys/net/ipv4/tcp_allowed_congestion_control")),
      err);
}

// The probes are many and close together, so that an outage counts for little longer than it lasts. One more probe than
// fits into `peer_timeout` is sent: an outage may end between two probes, and the kernel gives up one interval after
// the last probe, not at the last probe.
Status set_keepalive(int fd, Nanos peer_timeout) {
  const auto interval_s = int(keepalive_interval(peer_timeout) / std::chrono::seconds(1));
  const auto timeout_s = int(std::chrono::ceil<std::chrono::seconds>(peer_timeout).count());
  RW_TRY(set_int(fd, SOL_SOCKET, SO_KEEPALIVE, 1, "SO_KEEPALIVE"));
  RW_TRY(set_int(fd, IPPROTO_TCP, TCP_KEEPIDLE, interval_s, "TCP_KEEPIDLE"));
  RW_TRY(set_int(fd, IPPROTO_TCP, TCP_KEEPINTVL, interval_s, "TCP_KEEPINTVL"));
  return set_int(fd, IPPROTO_TCP, TCP_KEEPCNT, (timeout_s + interval_s - 1) / interval_s + 1, "TCP_KEEPCNT");
}

Status set_traffic_class(int fd, int octet) {
  int family = AF_INET;
  socklen_t size = sizeof family;
  ::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &size);
  if (family == AF_INET6) return set_int(fd, IPPROTO_IPV6, IPV6_TCLASS, octet, "IPV6_TCLASS");
  return set_int(fd, IPPROTO_IP, IP_TOS, octet, "IP_TOS");
}

Result<OwnedFd> new_socket(int family) {
  OwnedFd fd(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
  if (!fd) return system_error(Scope::lane, family == AF_INET6 ? "socket (IPv6)" : "socket (IPv4)");
  if (family == AF_INET6) RW_TRY(set_int(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 1, "IPV6_V6ONLY"));
  return fd;
}

// Returns the index of the interface on which the packet that completed the connection arrived; 0: not known. The index
// comes from packet information that the kernel keeps (ip(7), IP_PKTOPTIONS). IPv6 needs the options of RFC 2292, the
// only ones that work for TCP. The option is turned off again, because IPv6 copies every packet while it is on.
template <class PacketInfo, class Index>
int arrival_interface(int fd, int level, int notes, int options, Index PacketInfo::*index) {
  const int on = 1, off = 0;
  if (::setsockopt(fd, level, notes, &on, sizeof on) != 0) return 0;
  alignas(cmsghdr) std::array<char, 256> buffer{};
  socklen_t size = buffer.size();
  const bool read = ::getsockopt(fd, level, options, buffer.data(), &size) == 0;
  (void)::setsockopt(fd, level, notes, &off, sizeof off);
  if (!read) return 0;
  msghdr message{};
  message.msg_control = buffer.data();
  message.msg_controllen = size;
  for (cmsghdr* note = CMSG_FIRSTHDR(&message); note != nullptr; note = CMSG_NXTHDR(&message, note)) {
    if (note->cmsg_level != level || note->cmsg_type != notes) continue;
    PacketInfo info;
    std::memcpy(&info, CMSG_DATA(note), sizeof info);
    return int(info.*index);
  }
  return 0;
}

int arrival_interface(int fd, int family) {
  return family == AF_INET6
             ? arrival_interface(fd, IPPROTO_IPV6, IPV6_2292PKTINFO, IPV6_2292PKTOPTIONS, &in6_pktinfo::ipi6_ifindex)
             : arrival_interface(fd, IPPROTO_IP, IP_PKTINFO, IP_PKTOPTIONS, &in_pktinfo::ipi_ifindex);
}

// Listens at one port; false: the port is in use. SO_REUSEADDR lets bind() succeed beside a socket that is bound and
// does not listen yet; listen() refuses then.
Result<bool> try_listen(int fd, const SocketAddress& at) {
  if (::bind(fd, at.get(), at.size) != 0) {
    if (errno == EADDRINUSE) return false;
    return system_error(Scope::engine, fmt::format("bind {}", to_string(at)));
  }
  if (::listen(fd, kBacklog) != 0) {
    if (errno == EADDRINUSE) return false;
    return system_error(Scope::engine, fmt::format("listen {}", to_string(at)));
  }
  return true;
}

// Returns the kernel's TCP_INFO; all zero if `fd` is no TCP socket.
tcp_info info_of(int fd) {
  tcp_info info{};
  socklen_t size = sizeof info;
  return ::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 ? info : tcp_info{};
}

}  // namespace

Nanos keepalive_interval(Nanos peer_timeout) {
  return std::chrono::ceil<std::chrono::seconds>(peer_timeout / kKeepProbes);
}

Status set_options(int fd, const SocketOptions& options) {
  RW_TRY(set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1, "TCP_NODELAY"));
  if (options.peer_timeout > Nanos{0}) RW_TRY(set_keepalive(fd, options.peer_timeout));
  if (!options.congestion_control.empty()) RW_TRY(set_congestion_control(fd, options.congestion_control));
  if (options.traffic_class >= 0) RW_TRY(set_traffic_class(fd, options.traffic_class));
  return Status();
}

// A packet to an address of this host has the same address as its source. A bind() would prove nothing: hosts that take
// over addresses set net.ipv4.ip_nonlocal_bind.
Result<bool> on_this_host(const SocketAddress& address) {
  if (address.loopback()) return true;
  const OwnedFd fd(::socket(address.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd)
    return system_error(Scope::lane, fmt::format("socket to find out whether {} is this host", to_string(address)));
  const SocketAddress to = socket_address(address.address(), kAnyPort);
  if (::connect(fd.get(), to.get(), to.size) != 0) return false;  // no route
  return local_address(fd.get()).address().bytes == to.address().bytes;
}

std::string interface_name(int index) {
  char name[IF_NAMESIZE];
  return ::if_indextoname(unsigned(index), name) ? std::string(name) : fmt::format("interface {}", index);
}

std::size_t segment_bytes(int fd) { return info_of(fd).tcpi_snd_mss; }

bool has_retransmitted(int fd) { return info_of(fd).tcpi_total_retrans > 0; }

bool is_closed_by_peer(int fd) {
  char next = 0;
  const ssize_t n = ::recv(fd, &next, 1, MSG_PEEK | MSG_DONTWAIT);
  return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

bool has_unacknowledged(int fd) {
  int bytes = 0;
  return ::ioctl(fd, SIOCOUTQ, &bytes) == 0 && bytes > 0;
}

Status bind_to_interface(int fd, const std::string& interface, const SocketAddress& remote) {
  if (interface.empty()) return {};
  RW_ASSIGN_OR_RETURN(const bool own, on_this_host(remote));
  if (own) return {};
  if (::setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, interface.data(), socklen_t(interface.size())) == 0 ||
      errno != ENODEV)
    return {};
  return system_error(Scope::lane, "bind to interface " + interface);
}

Result<OwnedFd> dial(const DialSpec& spec) {
  RW_ASSIGN_OR_RETURN(OwnedFd fd, new_socket(spec.remote.family()));
  RW_TRY(set_options(fd.get(), spec.options));
  if (spec.pinned) RW_TRY(bind_to_interface(fd.get(), spec.interface, spec.remote));
  // connect() chooses the local port, per peer. A port chosen by bind() would make local ports run out at scale.
  RW_TRY(set_int(fd.get(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1, "IP_BIND_ADDRESS_NO_PORT"));
  const SocketAddress source = socket_address(spec.source, 0);
  if (::bind(fd.get(), source.get(), source.size) != 0)
    return system_error(Scope::lane, fmt::format("bind {} on {}", to_string(source), spec.interface));
  int rc;
  do rc = ::connect(fd.get(), spec.remote.get(), spec.remote.size);
  while (rc != 0 && errno == EINTR);
  if (rc != 0 && errno != EINPROGRESS && errno != EALREADY) {
    const int err = errno;
    return Status(Code::remote, Scope::lane,
                  fmt::format("connect from {} ({}) to {}: {} (errno {})", railweave::to_string(spec.source),
                              spec.interface, to_string(spec.remote), errno_text(err), err),
                  err);
  }
  return fd;
}

Result<bool> connected(int fd, const SocketAddress& remote) {
  pollfd p{fd, POLLOUT, 0};
  if (::poll(&p, 1, 0) <= 0) return false;
  int err = 0;
  socklen_t size = sizeof err;
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &size) != 0) err = errno;
  if (err == 0 && !(p.revents & (POLLERR | POLLHUP))) return true;
  if (err == 0) err = ECONNABORTED;  // an earlier call took SO_ERROR; the socket has failed all the same
  return Status(Code::remote, Scope::lane,
                fmt::format("connect to {}: {} (errno {})", to_string(remote), errno_text(err), err), err);
}

Result<Listening> listen_at(const Address& address, PortRange ports, const SocketOptions& options,
                            const std::string& vrf) {
  for (std::uint32_t port = ports.first; port <= ports.last; ++port) {
    const SocketAddress at = socket_address(address, std::uint16_t(port));
    RW_ASSIGN_OR_RETURN(OwnedFd fd, new_socket(at.family()));
    RW_TRY(set_int(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1, "SO_REUSEADDR"));
    RW_TRY(set_options(fd.get(), options));
    // The kernel knows the address only inside the VRF. A process started by `ip vrf exec` is bound to the VRF already
    // and may not bind again, so an error here is ignored.
    if (!vrf.empty()) (void)::setsockopt(fd.get(), SOL_SOCKET, SO_BINDTODEVICE, vrf.data(), socklen_t(vrf.size()));
    RW_ASSIGN_OR_RETURN(const bool listens, try_listen(fd.get(), at));
    if (!listens) continue;
    const SocketAddress chosen = local_address(fd.get());
    return Listening{std::move(fd), chosen};
  }
  return Status(Code::exhausted, Scope::engine,
                fmt::format("no free port among {}-{} on {}", ports.first, ports.last, railweave::to_string(address)),
                EADDRINUSE);
}

Result<Accepted> accept_from(int listener) {
  for (;;) {
    Accepted a;
    a.remote.size = sizeof a.remote.storage;
    a.fd.reset(::accept4(listener, a.remote.get(), &a.remote.size, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (a.fd) {
      a.interface = arrival_interface(a.fd.get(), a.remote.family());
      return a;
    }
    switch (errno) {
      case EAGAIN: return Accepted{};
      case EINTR:
      case ECONNABORTED:
      case EPROTO:
      case ENETDOWN:
      case EHOSTUNREACH:
      case ENETUNREACH:
      case EHOSTDOWN:
      case ENONET: continue;  // this connection failed, the next may not (accept(2), "Error handling")
      case EMFILE:
      case ENFILE:
      case ENOBUFS:
      case ENOMEM: {
        const int err = errno;
        return Status(Code::exhausted, Scope::engine,
                      fmt::format("accept on {}: {} (errno {}){}", to_string(local_address(listener)), errno_text(err),
                                  err, descriptor_hint(err)),
                      err);
      }
      default: return system_error(Scope::engine, fmt::format("accept on {}", to_string(local_address(listener))));
    }
  }
}

}  // namespace railweave::wire

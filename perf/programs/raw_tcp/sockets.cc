#include "raw_tcp/sockets.h"

#include <fcntl.h>
#include <linux/tcp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>

#include <sstream>

#include "base/error.h"

namespace railweave::perf::raw_tcp {
namespace {

constexpr int kPatienceMs = 10000;

Status set_option(int socket, int level, int name, const void* value, socklen_t length, const std::string& what) {
  if (::setsockopt(socket, level, name, value, length) == 0) return {};
  return system_error(Scope::engine, what);
}

// Sets every option before the handshake, so that window scaling and congestion control honour them.
Result<OwnedFd> make_socket(const RailAddress& rail, const Options& options) {
  OwnedFd socket(::socket(rail.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, options.mptcp ? IPPROTO_MPTCP : 0));
  if (!socket)
    return system_error(Scope::engine, options.mptcp ? "Multipath TCP socket (sysctl net.mptcp.enabled)" : "socket");
  const int fd = socket.get();
  // Best effort: without the privilege, the source address alone selects the interface. A Multipath TCP connection is
  // not bound: its subflows use several interfaces.
  if (!options.mptcp) ::setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, rail.name.c_str(), socklen_t(rail.name.size()));
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&rail.address), address_length(rail.address)) != 0) {
    return system_error(Scope::engine, "bind to " + format_address(rail.address));
  }
  RW_TRY(set_option(fd, IPPROTO_TCP, TCP_NODELAY, &options.nodelay, sizeof options.nodelay, "TCP_NODELAY"));
  if (const auto& cc = options.congestion_control; !cc.empty()) {
    RW_TRY(set_option(fd, IPPROTO_TCP, TCP_CONGESTION, cc.data(), socklen_t(cc.size()), "TCP_CONGESTION " + cc));
  }
  for (const auto& [name, bytes] : {std::pair{SO_SNDBUF, options.send_buffer}, {SO_RCVBUF, options.receive_buffer}}) {
    if (bytes > 0) RW_TRY(set_option(fd, SOL_SOCKET, name, &bytes, sizeof bytes, "buffer size"));
  }
  return socket;
}

Status make_nonblocking(int socket) {
  if (::fcntl(socket, F_SETFL, ::fcntl(socket, F_GETFL) | O_NONBLOCK) == 0) return {};
  return system_error(Scope::engine, "O_NONBLOCK");
}

Result<OwnedFd> accept_within(int listener, const RailAddress& rail) {
  pollfd entry{listener, POLLIN, 0};
  if (::poll(&entry, 1, kPatienceMs) <= 0) {
    return Status(Code::timed_out, Scope::engine,
                  "nobody connected to " + rail.name + " " + format_address(rail.address) + " within 10 s");
  }
  OwnedFd socket(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket) return system_error(Scope::engine, "accept");
  return socket;
}

Result<OwnedFd> connect_from(const RailAddress& rail, const sockaddr_storage& peer, const Options& options) {
  RW_ASSIGN_OR_RETURN(OwnedFd socket, make_socket(rail, options));
  const timeval patience{kPatienceMs / 1000, 0};  // SO_SNDTIMEO bounds connect()
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&peer), address_length(peer)) != 0) {
    return system_error(Scope::engine, "connect from " + rail.name + " to " + format_address(peer));
  }
  RW_TRY(make_nonblocking(socket.get()));
  return socket;
}

struct Listeners {
  std::vector<OwnedFd> sockets;
  std::string places;  // "address port\n" each
};

Result<Listeners> listen_on(const std::vector<RailAddress>& rails, const Options& options) {
  Listeners result;
  for (const auto& rail : rails) {
    RW_ASSIGN_OR_RETURN(OwnedFd socket, make_socket(rail, options));
    sockaddr_storage bound{};
    socklen_t length = sizeof bound;
    if (::listen(socket.get(), 16) != 0 ||
        ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&bound), &length) != 0) {
      return system_error(Scope::engine, "listen on " + rail.name);
    }
    const auto port = ntohs(reinterpret_cast<const sockaddr_in&>(bound).sin_port);  // same offset in sockaddr_in6
    result.places += format_address(bound) + " " + std::to_string(port) + "\n";
    result.sockets.push_back(std::move(socket));
  }
  return result;
}

Result<std::vector<sockaddr_storage>> parse_places(const std::string& text, std::size_t expected) {
  std::vector<sockaddr_storage> places;
  std::istringstream words(text);
  std::string address;
  for (unsigned port = 0; words >> address >> port;) places.push_back(parse_address(address, std::uint16_t(port)));
  if (places.size() == expected) return places;
  return Status(Code::invalid_argument, Scope::engine,
                "rank 0 has " + std::to_string(expected) + " rails, rank 1 " + std::to_string(places.size()));
}

}  // namespace

Result<std::vector<Connection>> open_connections(ControlConnection& control, const std::vector<RailAddress>& rails,
                                                 int per_rail, const Options& options) {
  std::vector<Connection> connections;
  if (control.rank() == 1) {
    RW_ASSIGN_OR_RETURN(const Listeners listeners, listen_on(rails, options));
    RW_TRY(control.send(listeners.places));
    for (std::size_t i = 0; i < rails.size(); ++i) {
      for (int n = 0; n < per_rail; ++n) {
        RW_ASSIGN_OR_RETURN(OwnedFd socket, accept_within(listeners.sockets[i].get(), rails[i]));
        connections.push_back(Connection{std::move(socket), rails[i].label});
      }
    }
  } else {
    RW_ASSIGN_OR_RETURN(const std::string text, control.receive());
    RW_ASSIGN_OR_RETURN(const auto places, parse_places(text, rails.size()));
    for (std::size_t i = 0; i < rails.size(); ++i) {
      for (int n = 0; n < per_rail; ++n) {
        RW_ASSIGN_OR_RETURN(OwnedFd socket, connect_from(rails[i], places[i], options));
        connections.push_back(Connection{std::move(socket), rails[i].label});
      }
    }
  }
  RW_TRY(control.barrier());
  return connections;
}

std::string congestion_control_of(int socket) {
  char name[16] = "";
  socklen_t length = sizeof name - 1;
  ::getsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, name, &length);
  return name;
}

std::uint64_t retransmits_of(int socket) {
  tcp_info info{};
  socklen_t length = sizeof info;
  if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return 0;
  return info.tcpi_total_retrans;
}

}  // namespace railweave::perf::raw_tcp

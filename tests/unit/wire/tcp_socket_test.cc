#include "wire/bootstrap/socket.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>

#include "tests/sanitizers.h"
#include "tests/unit/wire/tcp_pair.h"

namespace railweave::wire {
namespace {

int int_option(int fd, int level, int name) {
  int value = -1;
  socklen_t size = sizeof value;
  EXPECT_EQ(::getsockopt(fd, level, name, &value, &size), 0);
  return value;
}

std::string congestion_control_of(int fd) {
  char name[32] = "";
  socklen_t size = sizeof name;
  EXPECT_EQ(::getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &size), 0);
  return name;
}

TEST(TcpSocket, options_reach_both_ends) {
  SocketOptions options;
  options.traffic_class = 0x28;
  options.congestion_control = "reno";
  options.peer_timeout = std::chrono::seconds(12);
  const auto [a, b] = tcp_pair(options);
  for (int fd : {a.get(), b.get()}) {
    EXPECT_EQ(int_option(fd, IPPROTO_IP, IP_TOS), 0x28);
    EXPECT_EQ(int_option(fd, IPPROTO_TCP, TCP_NODELAY), 1);
    EXPECT_EQ(int_option(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
    EXPECT_EQ(int_option(fd, IPPROTO_TCP, TCP_KEEPIDLE), 2);
    EXPECT_EQ(int_option(fd, IPPROTO_TCP, TCP_KEEPINTVL), 2);
    EXPECT_EQ(int_option(fd, IPPROTO_TCP, TCP_KEEPCNT), 7);
    EXPECT_EQ(congestion_control_of(fd), "reno");
    EXPECT_TRUE(::fcntl(fd, F_GETFD) & FD_CLOEXEC);
    EXPECT_TRUE(::fcntl(fd, F_GETFL) & O_NONBLOCK);
  }
}

// The kernel gives up one interval after the last probe. At least one probe must be sent after the outage, however the
// outage falls between the probes.
TEST(TcpSocket, keepalive_outlasts_outages_shorter_than_the_peer_timeout) {
  using namespace std::chrono_literals;
  for (const Nanos timeout : {Nanos(2s), Nanos(2500ms), Nanos(9s), Nanos(9999ms), Nanos(10s), Nanos(11s), Nanos(15s),
                              Nanos(25s), Nanos(3600s)}) {
    SocketOptions options;
    options.peer_timeout = timeout;
    const auto [a, b] = tcp_pair(options);
    const int between = int_option(a.get(), IPPROTO_TCP, TCP_KEEPINTVL),
              probes = int_option(a.get(), IPPROTO_TCP, TCP_KEEPCNT);
    EXPECT_EQ(std::chrono::seconds(between), keepalive_interval(timeout));
    EXPECT_GE(std::chrono::seconds((probes - 1) * between), timeout);
    EXPECT_LT(std::chrono::seconds((probes - 2) * between), timeout) << "gives up later than it need";
  }
}

TEST(TcpSocket, v6_traffic_class) {
  SocketOptions options;
  options.traffic_class = 0x40;
  auto listening = listen_at(parse_socket_address("[::1]:0").value().address(), PortRange{}, options);
  ASSERT_TRUE(listening.ok()) << listening.status().message();
  EXPECT_EQ(int_option(listening->fd.get(), IPPROTO_IPV6, IPV6_TCLASS), 0x40);
  EXPECT_EQ(int_option(listening->fd.get(), IPPROTO_IPV6, IPV6_V6ONLY), 1);
}

TEST(TcpSocket, refused_congestion_control_lists_what_there_is) {
  SocketOptions options;
  options.congestion_control = "nonesuch";
  const auto listening = listen_at(loopback_address(), PortRange{}, options);
  ASSERT_FALSE(listening.ok());
  EXPECT_EQ(listening.status().code(), Code::invalid_config);
  EXPECT_NE(listening.status().message().find("'nonesuch'"), std::string::npos);
  EXPECT_NE(listening.status().message().find("reno"), std::string::npos) << listening.status().message();
}

// Returns three free TCP ports in a row, after one that the kernel chose; {0, 0} if 50 attempts find none.
PortRange three_free_ports() {
  for (int attempt = 0; attempt < 50; ++attempt) {
    const std::uint16_t first = listen_at(loopback_address(), PortRange{}, {})->address.port();
    if (first > 65500) continue;
    bool free = true;
    for (std::uint16_t port = first + 1; port <= first + 3; ++port)
      free = free && listen_at(loopback_address(), PortRange{port, port}, {}).ok();
    if (free) return {std::uint16_t(first + 1), std::uint16_t(first + 3)};
  }
  return {};
}

TEST(TcpSocket, ports_of_a_range_are_used_up_in_order) {
  const PortRange range = three_free_ports();
  if (range.first == 0) GTEST_SKIP() << "no three free ports in a row";
  std::vector<Listening> held;
  for (int i = 0; i < 3; ++i) {
    auto listening = listen_at(loopback_address(), range, {});
    ASSERT_TRUE(listening.ok()) << listening.status().message();
    EXPECT_EQ(listening->address.port(), range.first + i);
    held.push_back(std::move(*listening));
  }
  const auto none = listen_at(loopback_address(), range, {});
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.status().code(), Code::exhausted);
  EXPECT_NE(none.status().message().find(std::to_string(range.last)), std::string::npos);
}

TEST(TcpSocket, accept_from__does_not_wait_where_nobody_dialled) {
  auto listening = listen_at(loopback_address(), PortRange{}, {});
  ASSERT_TRUE(listening.ok());
  auto accepted = accept_from(listening->fd.get());
  ASSERT_TRUE(accepted.ok());
  EXPECT_FALSE(accepted->fd);
}

TEST(TcpSocket, a_refused_dial_is_named_by_its_address) {
  const SocketAddress gone = listen_at(loopback_address(), PortRange{}, {})->address;
  auto dialled = dial({loopback_address(), "lo", gone, {}});
  Status why = dialled.status();
  if (dialled.ok()) {
    pollfd p{dialled->get(), POLLOUT, 0};
    ::poll(&p, 1, 5000);
    why = connected(dialled->get(), gone).status();
  }
  EXPECT_EQ(why.code(), Code::remote);
  EXPECT_EQ(why.system_errno(), ECONNREFUSED);
  EXPECT_NE(why.message().find(to_string(gone)), std::string::npos) << why.message();
}

TEST(TcpSocket, a_source_that_is_not_ours_is_an_error) {
  const Address other = parse_socket_address("203.0.113.7:0").value().address();
  const auto dialled = dial({other, "lo", parse_socket_address("127.0.0.1:9").value(), {}});
  ASSERT_FALSE(dialled.ok());
  EXPECT_EQ(dialled.status().system_errno(), EADDRNOTAVAIL);
  EXPECT_NE(dialled.status().message().find("203.0.113.7"), std::string::npos);
}

TEST(TcpSocket, a_dialled_socket_leaves_from_its_rails_address) {
  const Address second = parse_socket_address("127.0.0.2:0").value().address();
  auto listening = listen_at(loopback_address(), PortRange{}, {});
  auto dialled = dial({second, "lo", listening->address, {}});
  ASSERT_TRUE(dialled.ok()) << dialled.status().message();
  ASSERT_TRUE(readable(listening->fd.get(), 5000));
  auto accepted = accept_from(listening->fd.get());
  ASSERT_TRUE(accepted.ok() && accepted->fd);
  EXPECT_EQ(accepted->remote.address(), second);
}

std::string interface_of(int fd) {
  char name[IFNAMSIZ] = "";
  socklen_t size = sizeof name;
  EXPECT_EQ(::getsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, name, &size), 0);
  return name;
}

TEST(TcpSocket, a_dialled_socket_keeps_to_its_interface_except_on_this_host) {
  OwnedFd probe(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::setsockopt(probe.get(), SOL_SOCKET, SO_BINDTODEVICE, "lo", 2) != 0)
    GTEST_SKIP() << "this kernel does not let us choose an interface";
  const SocketAddress nobody = parse_socket_address("203.0.113.7:9").value();
  auto away = dial({loopback_address(), "lo", nobody, {}});
  ASSERT_TRUE(away.ok()) << away.status().message();
  EXPECT_EQ(interface_of(away->get()), "lo");
  EXPECT_EQ(interface_of(tcp_pair().first.get()), "");
}

TEST(TcpSocket, nobody_dials_from_an_interface_that_is_gone) {
  const SocketAddress away = parse_socket_address("203.0.113.7:9").value();
  const auto dialled = dial({loopback_address(), "rw-is-gone", away, {}});
  ASSERT_FALSE(dialled.ok());
  EXPECT_EQ(dialled.status().system_errno(), ENODEV);
  EXPECT_NE(dialled.status().message().find("rw-is-gone"), std::string::npos) << dialled.status().message();
}

// 192.0.2.1 belongs to no host (RFC 5737). tests/lab has hosts on which processes may bind to addresses of others.
TEST(TcpSocket, on_this_host__is_what_the_kernel_delivers_here) {
  EXPECT_TRUE(*on_this_host(socket_address(loopback_address(), 0)));
  EXPECT_TRUE(*on_this_host(*parse_socket_address("127.1.2.3:80")));
  EXPECT_FALSE(*on_this_host(*parse_socket_address("192.0.2.1:80")));
  EXPECT_FALSE(*on_this_host(*parse_socket_address("[2001:db8::1]:80")));
}

TEST(TcpSocket, on_this_host__without_a_descriptor_is_an_error) {
  if (kAsan) GTEST_SKIP() << "the sanitizer needs a pipe to read an object's type, and has no descriptor for one";
  rlimit old;
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &old), 0);
  const rlimit none{0, old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const Result<bool> own = on_this_host(*parse_socket_address("192.0.2.1:80"));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &old), 0);
  EXPECT_EQ(own.status().system_errno(), EMFILE);
}

TEST(TcpSocket, a_peer_that_closed_is_known_once_all_was_read) {
  auto [dialled, taken] = tcp_pair();
  EXPECT_FALSE(is_closed_by_peer(taken.get()));
  ASSERT_EQ(::send(dialled.get(), "x", 1, 0), 1);
  dialled.reset();
  ASSERT_TRUE(readable(taken.get(), 5000));
  EXPECT_FALSE(is_closed_by_peer(taken.get())) << "a byte came before the end";
  char byte = 0;
  ASSERT_EQ(::recv(taken.get(), &byte, 1, 0), 1);
  ASSERT_TRUE(readable(taken.get(), 5000));
  EXPECT_TRUE(is_closed_by_peer(taken.get()));
}

TEST(TcpSocket, a_peer_that_reset_has_closed) {
  auto [dialled, taken] = tcp_pair();
  const linger at_once{1, 0};
  ASSERT_EQ(::setsockopt(dialled.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once), 0);
  dialled.reset();
  ASSERT_TRUE(readable(taken.get(), 5000));
  EXPECT_TRUE(is_closed_by_peer(taken.get()));
}

// The listener's backlog is full: its kernel drops the SYN, and the dialler's kernel retransmits it after a second.
TEST(TcpSocket, has_retransmitted__a_syn_that_was_lost_is_noticed) {
  auto full = listen_at(loopback_address(), PortRange{}, {});
  ASSERT_TRUE(full.ok());
  ASSERT_EQ(::listen(full->fd.get(), 0), 0);
  const SocketAddress remote = full->address;
  auto first = dial({loopback_address(), "lo", remote, {}});
  ASSERT_TRUE(first.ok() && connected(first->get(), remote).ok());
  EXPECT_FALSE(has_retransmitted(first->get()));
  auto lost = dial({loopback_address(), "lo", remote, {}});
  ASSERT_TRUE(lost.ok());
  EXPECT_FALSE(has_retransmitted(lost->get()));
  for (int tenths = 0; tenths < 100 && !has_retransmitted(lost->get()); ++tenths) ::usleep(100'000);
  EXPECT_TRUE(has_retransmitted(lost->get()));
  EXPECT_FALSE(has_retransmitted(-1));
}

TEST(TcpSocket, no_descriptors_is_exhausted_and_the_peer_keeps_waiting) {
  auto listening = listen_at(loopback_address(), PortRange{}, {});
  auto dialled = dial({loopback_address(), "lo", listening->address, {}});
  ASSERT_TRUE(dialled.ok());
  ASSERT_TRUE(readable(listening->fd.get(), 5000));
  rlimit old;
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &old), 0);
  const rlimit none{rlim_t(::dup(0)), old.rlim_max};  // the next free descriptor is beyond the limit
  ::close(int(none.rlim_cur));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto refused = accept_from(listening->fd.get());
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &old), 0);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), Code::exhausted);
  auto accepted = accept_from(listening->fd.get());
  EXPECT_TRUE(accepted.ok() && accepted->fd);
}

}  // namespace
}  // namespace railweave::wire

// Connections from programs that are no peers: the engine closes them in bounded time, while transfers go on.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "base/clock.h"
#include "base/fd.h"
#include "two_engines.h"

namespace railweave::engine_test {
namespace {

// Returns the first IPv4 address in a handle (docs/internals/protocol.md).
sockaddr_in address_of(const Handle& handle) {
  sockaddr_in address{};
  for (std::size_t at = 32; at < kHandleFixedBytes; at += 20) {
    if (handle[at] != std::byte{4}) continue;
    std::uint16_t port;
    std::memcpy(&port, handle.data() + at + 2, 2);
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    std::memcpy(&address.sin_addr, handle.data() + at + 4, 4);
    break;
  }
  return address;
}

class ForeignConnections : public testing::Test {
 protected:
  void SetUp() override {
    a_ = start_engine();
    b_ = start_engine();
    ASSERT_TRUE(a_ && b_);
    auto listener = b_->listen(0, handle_);
    ASSERT_TRUE(listener.ok());
    listener_ = std::move(*listener);
    auto connector = a_->connect(0, handle_);
    ASSERT_TRUE(connector.ok());
    ends_ = meet(**connector, *listener_);
    ASSERT_TRUE(ends_);
    address_ = address_of(handle_);
    ASSERT_EQ(address_.sin_family, AF_INET);
  }

  OwnedFd probe(int flags = 0) {
    OwnedFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
    if (!fd) return fd;
    if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address_), sizeof address_) != 0 && errno != EINPROGRESS)
      fd.reset();
    return fd;
  }

  // Returns whether the other side closes or resets within `patience`. Discards what it sends.
  static bool is_closed(int fd, Nanos patience) {
    const TimePoint deadline = now() + patience;
    for (;;) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - now()).count();
      pollfd p{fd, POLLIN, 0};
      if (left <= 0 || poll(&p, 1, int(left)) <= 0) return false;
      char sink[4096];
      if (recv(fd, sink, sizeof sink, MSG_DONTWAIT) <= 0) return true;
    }
  }

  void transfers_go_on(int messages = 20) {
    for (unsigned seed = 0; seed < unsigned(messages); ++seed) ASSERT_TRUE(transfer(ends_, 100'000, seed));
  }

  std::shared_ptr<Engine> a_, b_;
  std::unique_ptr<Listener> listener_;
  Handle handle_{};
  Ends ends_;
  sockaddr_in address_{};
};

TEST_F(ForeignConnections, an_http_request_is_closed) {
  OwnedFd fd = probe();
  ASSERT_TRUE(fd);
  const std::string request = "GET / HTTP/1.1\r\nHost: localhost\r\nUser-Agent: curl/7.88.1\r\nAccept: */*\r\n\r\n";
  ASSERT_EQ(send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL), ssize_t(request.size()));
  transfers_go_on();
  EXPECT_TRUE(is_closed(fd.get(), deadline(std::chrono::seconds(8))));
}

TEST_F(ForeignConnections, connections_that_send_noise_are_closed) {
  std::vector<OwnedFd> fds;
  for (unsigned i = 0; i < 50; ++i) {
    fds.push_back(probe());
    ASSERT_TRUE(fds.back());
    const auto noise = pattern(80 + i * 37, i);
    (void)send(fds.back().get(), noise.data(), noise.size(), MSG_NOSIGNAL);
  }
  transfers_go_on();
  for (const OwnedFd& fd : fds) EXPECT_TRUE(is_closed(fd.get(), deadline(std::chrono::seconds(8))));
}

TEST_F(ForeignConnections, connections_that_fall_silent_are_closed) {
  OwnedFd silent = probe(), half = probe();
  ASSERT_TRUE(silent && half);
  const std::string magic = "LKEAWEV1";
  ASSERT_EQ(send(half.get(), magic.data(), magic.size(), MSG_NOSIGNAL), ssize_t(magic.size()));
  transfers_go_on();
  EXPECT_TRUE(is_closed(silent.get(), deadline(std::chrono::seconds(8))));
  EXPECT_TRUE(is_closed(half.get(), deadline(std::chrono::seconds(8))));
}

TEST_F(ForeignConnections, thousands_that_come_and_go_disturb_no_peer) {
  int let_in = 0;
  std::thread crowd([&] {
    for (int i = 0; i < 4000; ++i) let_in += bool(probe());
  });
  transfers_go_on(100);
  Ends more = join(*a_, *b_);
  EXPECT_TRUE(more);
  crowd.join();
  EXPECT_GT(let_in, 3000) << "of 4000";
  const auto fresh = start_engine();
  ASSERT_TRUE(fresh);
  Ends newcomer = join(*fresh, *b_);
  ASSERT_TRUE(newcomer);
  EXPECT_TRUE(transfer(newcomer, 1000, 5));
}

// More connections are silent than handshakes may be under way: a peer still connects at once.
TEST_F(ForeignConnections, silent_ones_that_fill_the_room_keep_no_peer_out) {
  const rlim_t needed = 4000;  // this process has both ends of each connection
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  if (limit.rlim_max < needed) GTEST_SKIP() << limit.rlim_max << " descriptors at most here, and this takes " << needed;
  limit.rlim_cur = std::max(limit.rlim_cur, needed);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  const int before = open_descriptors();
  std::vector<OwnedFd> crowd;
  for (int i = 0; i < 1500; ++i) {
    crowd.push_back(probe());
    ASSERT_TRUE(crowd.back());
  }
  transfers_go_on();
  EXPECT_LE(open_descriptors(), before + int(crowd.size()) + 1024 + 50) << "more than may shake hands at once";
  const TimePoint begin = now();
  const auto fresh = start_engine();
  ASSERT_TRUE(fresh);
  Ends newcomer = join(*fresh, *b_);
  ASSERT_TRUE(newcomer);
  EXPECT_LT(now() - begin, sooner_than_waiting(std::chrono::seconds(4)));  // a silent stranger is closed after 5 s
  EXPECT_TRUE(transfer(newcomer, 1000, 5));
  const int ours = before + int(crowd.size()) + 200;  // this end of each, and what the newcomer needs
  EXPECT_TRUE(eventually([&] { return open_descriptors() <= ours; })) << "the engine keeps strangers' sockets open";
}

}  // namespace
}  // namespace railweave::engine_test

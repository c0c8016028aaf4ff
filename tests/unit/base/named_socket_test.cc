#include "base/named_socket.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <string>
#include <thread>

#include "base/clock.h"

namespace railweave {
namespace {

using namespace std::chrono_literals;

TEST(NamedSocket, connect_to__reaches_a_listener_by_name_and_by_address) {
  for (const char* const host : {"127.0.0.1", "localhost"}) {
    std::uint16_t port = 0;
    const auto listener = listen_at(host, 0, port);
    ASSERT_TRUE(listener.ok()) << listener.status().message();
    EXPECT_NE(port, 0);
    auto connected = connect_to(host, port, 5s);
    ASSERT_TRUE(connected.ok()) << connected.status().message();
    EXPECT_TRUE(::fcntl(connected->get(), F_GETFL) & O_NONBLOCK);
    EXPECT_TRUE(::fcntl(connected->get(), F_GETFD) & FD_CLOEXEC);
  }
}

std::string own_name() {
  char name[256] = "";
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

// The result is the same whether /etc/hosts maps the host's name to loopback or not.
TEST(NamedSocket, listen_at__own_name_is_every_address_of_both_families) {
  std::uint16_t port = 0, other = 0;
  const auto listener = listen_at(own_name(), 0, port);
  if (listener.status().code() == Code::invalid_argument) GTEST_SKIP() << "this host does not know its own name";
  ASSERT_TRUE(listener.ok()) << listener.status().message();
  const bool has_ipv6 = listen_at("::1", 0, other).ok();
  for (const char* const host : {"127.0.0.1", "127.0.1.1", "::1"}) {
    if (host[0] == ':' && !has_ipv6) continue;
    const auto connected = connect_to(host, port, 1s);
    EXPECT_TRUE(connected.ok()) << connected.status().message();
  }
}

TEST(NamedSocket, listen_at__address_is_that_one_alone) {
  std::uint16_t port = 0;
  for (const char* const host : {"127.0.0.1", "localhost"}) {
    const auto listener = listen_at(host, 0, port);
    ASSERT_TRUE(listener.ok()) << listener.status().message();
    EXPECT_FALSE(connect_to("127.0.1.1", port, 50ms).ok()) << host;
  }
}

TEST(NamedSocket, connect_to__says_what_to_do_where_a_name_is_loopback_only) {
  std::uint16_t port = 0;
  { ASSERT_TRUE(listen_at("127.0.0.1", 0, port).ok()); }
  for (const char* const host : {"127.0.0.1", "localhost"}) {
    const std::string said(connect_to(host, port, 50ms).status().message());
    EXPECT_NE(said.find("this host alone"), std::string::npos) << said;
  }
}

TEST(NamedSocket, connect_to__waits_for_who_comes_later) {
  std::uint16_t port = 0;
  { ASSERT_TRUE(listen_at("127.0.0.1", 0, port).ok()); }  // the port is free again
  std::promise<void> tried;
  std::thread later([&] {
    std::this_thread::sleep_for(100ms);
    std::uint16_t served = 0;
    const auto listener = listen_at("127.0.0.1", port, served);
    EXPECT_TRUE(listener.ok()) << listener.status().message();
    EXPECT_EQ(served, port);
    tried.get_future().wait();
  });
  EXPECT_TRUE(connect_to("127.0.0.1", port, 5s).ok());
  tried.set_value();
  later.join();
}

TEST(NamedSocket, connect_to__gives_up_in_time_and_says_where_and_why) {
  std::uint16_t port = 0;
  { ASSERT_TRUE(listen_at("127.0.0.1", 0, port).ok()); }
  const TimePoint start = now();
  const auto refused = connect_to("127.0.0.1", port, 200ms);
  EXPECT_LT(now() - start, 3s);
  EXPECT_EQ(refused.status().code(), Code::timed_out);
  const std::string said(refused.status().message());
  for (const std::string& word : {"127.0.0.1:" + std::to_string(port), std::string("0.2 s"), std::string("refused")})
    EXPECT_NE(said.find(word), std::string::npos) << said;
}

// The kernel may give the dialled port to the dialling socket itself, which then connects to itself. connect_to() must
// not return such a connection.
TEST(NamedSocket, connect_to__is_not_content_with_itself) {
  std::uint16_t port = 0;
  { ASSERT_TRUE(listen_at("127.0.0.1", 0, port).ok()); }
  const TimePoint give_up = now() + 500ms;
  while (now() < give_up) EXPECT_FALSE(connect_to("127.0.0.1", port, 20ms).ok());
}

TEST(NamedSocket, hosts_that_nobody_knows) {
  std::uint16_t served = 0;
  for (const Status& status :
       {listen_at("no such host", 0, served).status(), connect_to("no such host", 1, 1s).status()}) {
    EXPECT_EQ(status.code(), Code::invalid_argument);
    EXPECT_NE(std::string(status.message()).find("no such host"), std::string::npos) << status.message();
  }
}

}  // namespace
}  // namespace railweave

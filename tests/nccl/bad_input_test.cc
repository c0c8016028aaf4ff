// Bad handles, variables and connections: each gives a clear warning and the right ncclResult_t, and disturbs nothing
// else.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "tests/nccl/describe.h"
#include "tests/nccl/log_capture.h"
#include "tests/nccl/own_ports.h"
#include "tests/nccl/pair.h"
#include "tests/sanitizers.h"

namespace railweave::nccl_test {
namespace {

using namespace std::chrono_literals;

using HandleBytes = std::array<unsigned char, abi::kHandleMaxBytes>;

constexpr std::size_t kFixedBytes = 112;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class BadHandle : public testing::Test {
 protected:
  void SetUp() override {
    clear_captured_log();
    ASSERT_EQ(net_->init(&context_, -1, capture_log), abi::kSuccess) << warnings_text();
    ASSERT_EQ(net_->listen(context_, 0, handle_.data(), &listener_), abi::kSuccess) << warnings_text();
  }
  void TearDown() override { EXPECT_EQ(net_->finalize(context_), abi::kSuccess); }

  // Polls connect, and returns its final result.
  ReturnCode connect(HandleBytes handle, std::chrono::seconds within = 30s) {
    ReturnCode result = abi::kSuccess;
    void* comm = nullptr;
    spin_until("connected or refused", within, [&] {
      result = net_->connect(context_, 0, -1, handle.data(), &comm);
      return result != abi::kSuccess || comm;
    });
    return result;
  }

  const Library library_{options().plugin};
  const std::unique_ptr<Net> net_ = library_.net(11);
  void* context_ = nullptr;
  void* listener_ = nullptr;
  HandleBytes handle_{};
};

TEST_F(BadHandle, any_flipped_byte_is_refused) {
  for (std::size_t at = 0; at < kFixedBytes; ++at) {
    clear_captured_log();
    HandleBytes damaged = handle_;
    damaged[at] ^= 0x10;
    EXPECT_EQ(connect(damaged), abi::kInvalidUsage) << "byte " << at;
    ASSERT_EQ(captured_warnings().size(), 1u) << "byte " << at;
    EXPECT_TRUE(contains(captured_warnings()[0], "handle")) << captured_warnings()[0];
  }
}

TEST_F(BadHandle, another_plugins_handle_is_refused) {
  HandleBytes socket_like{};
  for (std::size_t i = 0; i < socket_like.size(); ++i) socket_like[i] = static_cast<unsigned char>(i * 7);
  std::memset(&socket_like[kFixedBytes], 0, socket_like.size() - kFixedBytes);
  EXPECT_EQ(connect(socket_like), abi::kInvalidUsage);
  EXPECT_TRUE(contains(warnings_text(), "not Railweave's")) << warnings_text();
}

TEST_F(BadHandle, an_empty_handle_is_refused) {
  EXPECT_EQ(connect(HandleBytes{}), abi::kInvalidUsage);
  EXPECT_EQ(captured_warnings().size(), 1u);
}

TEST_F(BadHandle, a_truncated_handle_is_refused) {
  for (const std::size_t kept : {4u, 28u, 40u, 60u, 111u}) {
    HandleBytes cut = handle_;
    std::memset(&cut[kept], 0, cut.size() - kept);
    if (cut == handle_) continue;  // nothing but zeros was cut
    EXPECT_EQ(connect(cut), abi::kInvalidUsage) << kept;
  }
}

TEST_F(BadHandle, another_version_is_refused) {
  HandleBytes other = handle_;
  other[4] = static_cast<unsigned char>(other[4] + 1);
  EXPECT_EQ(connect(other), abi::kInvalidUsage);
  EXPECT_TRUE(contains(warnings_text(), "version")) << warnings_text();
}

TEST_F(BadHandle, a_listener_that_is_gone_is_a_remote_error) {
  ASSERT_EQ(net_->close_listen(listener_), abi::kSuccess);
  EXPECT_EQ(connect(handle_), abi::kRemoteError);
  EXPECT_EQ(captured_warnings().size(), 1u) << warnings_text();
}

TEST_F(BadHandle, a_process_that_is_gone_is_a_remote_error) {
  Peer peer("listen_and_leave", "");
  const std::string bytes = peer.channel().receive();
  peer.expect_exit();
  HandleBytes handle;
  std::memcpy(handle.data(), bytes.data(), handle.size());
  EXPECT_EQ(connect(handle, 40s), abi::kRemoteError);
  EXPECT_FALSE(captured_warnings().empty());
}

struct BadVariable {
  const char* name;
  std::vector<std::string> environment;
  std::vector<std::string> told;  // parts of the one warning
};

class BadEnvironment : public testing::TestWithParam<BadVariable> {};

TEST_P(BadEnvironment, init__says_what_is_wrong) {
  const Description d = describe_plugin(11, GetParam().environment);
  EXPECT_EQ(d.init_result, abi::kInvalidUsage);
  ASSERT_EQ(d.warnings.size(), 1u) << testing::PrintToString(d.warnings);
  for (const std::string& part : GetParam().told) EXPECT_TRUE(contains(d.warnings[0], part)) << d.warnings[0];
}

INSTANTIATE_TEST_SUITE_P(
    , BadEnvironment,
    testing::Values(
        BadVariable{"unknown", {"RAILWEAVE_LANES_PER_RIAL=2"}, {"RAILWEAVE_LANES_PER_RIAL"}},
        BadVariable{
            "not_a_number", {"RAILWEAVE_LANES_PER_RAIL=two"}, {"RAILWEAVE_LANES_PER_RAIL", "'two'", "expected"}},
        BadVariable{"out_of_range", {"RAILWEAVE_LANES_PER_RAIL=1000"}, {"RAILWEAVE_LANES_PER_RAIL", "1000"}},
        BadVariable{"negative", {"RAILWEAVE_EAGER_LIMIT=-1"}, {"RAILWEAVE_EAGER_LIMIT", "-1"}},
        BadVariable{"ports_reversed", {"RAILWEAVE_PORTS=2000-1000"}, {"RAILWEAVE_PORTS", "2000-1000"}},
        BadVariable{"device_model", {"RAILWEAVE_DEVICES=some"}, {"RAILWEAVE_DEVICES", "some"}},
        BadVariable{"no_such_rail", {"RAILWEAVE_RAILS=nosuch0"}, {"nosuch0", "lo"}},
        BadVariable{"no_such_interface", {"NCCL_SOCKET_IFNAME=nosuch"}, {"nosuch", "lo"}},
        BadVariable{"nothing_left",
                    {"NCCL_SOCKET_IFNAME=^lo,eth,en,ib,veth,docker,br,wl,dummy,tun,sit,ip,gre,erspan,teql,if"},
                    {"lo"}},
        BadVariable{"family", {"NCCL_SOCKET_FAMILY=AF_IPX"}, {"NCCL_SOCKET_FAMILY", "AF_IPX"}}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(Exhausted, init__without_descriptors_is_a_system_error) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer needs descriptors of its own to judge a pointer";
  Peer peer("init_without_descriptors", "");
  const std::string answer = peer.channel().receive();
  peer.expect_exit();
  EXPECT_TRUE(contains(answer, std::to_string(int(abi::kSystemError)) + " NET/Railweave : ")) << answer;
  EXPECT_TRUE(contains(answer, "Too many open files")) << answer;
}

// Traffic between two ranks while strangers connect to the listeners. The traffic must stay correct.
class ForeignConnections : public testing::Test {
 protected:
  void SetUp() override { clear_captured_log(); }

  static Scenario traffic() {
    return {.version = 11, .comms = 2, .both_ways = true, .messages = 150, .slot_bytes = 256 * KiB, .depth = 4};
  }

  // Runs traffic, and meanwhile `visit` for each listening port.
  static void with_traffic(const std::function<void(const sockaddr_in&)>& visit) {
    Pair pair(traffic());
    const auto ports = own_listening_ports();
    ASSERT_FALSE(ports.empty());
    pair.first->start();
    pair.second->start();
    for (const sockaddr_in& port : ports) visit(port);
    pair.first->wait();
    pair.second->wait();
    visit(ports[0]);          // again without traffic
    Pair another(traffic());  // the listeners still accept peers
    another.first->start();
    another.second->start();
    another.first->wait();
    another.second->wait();
  }

  static void say(const sockaddr_in& port, const std::string& bytes) {
    const OwnedFd fd = probe(port);
    if (fd) (void)send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
};

TEST_F(ForeignConnections, random_bytes_disturb_no_traffic) {
  std::string noise(4096, '\0');
  std::uint32_t state = 12345;
  with_traffic([&](const sockaddr_in& port) {
    for (int i = 0; i < 100; ++i) {
      for (char& c : noise) c = char((state = state * 1664525 + 1013904223) >> 24);
      say(port, noise.substr(0, state % noise.size()));
    }
  });
}

TEST_F(ForeignConnections, http_requests_disturb_no_traffic) {
  with_traffic([](const sockaddr_in& port) { say(port, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); });
}

TEST_F(ForeignConnections, silent_and_half_open_ones_disturb_no_traffic) {
  std::vector<OwnedFd> silent;
  with_traffic([&](const sockaddr_in& port) {
    for (int i = 0; i < 20; ++i) silent.push_back(probe(port));
    say(port, "R");
  });
}

TEST_F(ForeignConnections, thousands_of_connects_disturb_no_traffic) {
  with_traffic([](const sockaddr_in& port) {
    for (int i = 0; i < 2000; ++i) probe(port);
  });
}

TEST_F(ForeignConnections, a_silent_client_is_closed) {
  Pair pair(traffic());
  const OwnedFd fd = probe(own_listening_ports().at(0));
  ASSERT_TRUE(bool(fd));
  const timeval patience{30, 0};
  setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  char byte;
  const ssize_t got = recv(fd.get(), &byte, 1, 0);
  EXPECT_TRUE(got == 0 || (got < 0 && errno == ECONNRESET)) << got << " errno " << errno;
}

}  // namespace
}  // namespace railweave::nccl_test

// Lanes that break: no request fails, and the engine dials the lost lanes again.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "key_file.h"
#include "sockets.h"
#include "two_engines.h"

namespace railweave::engine_test {
namespace {

// Returns the two TCP ports of a connection, the smaller first: both ends' descriptors give the same result.
std::pair<std::uint16_t, std::uint16_t> ports(int fd) {
  sockaddr_in here{}, there{};
  socklen_t size = sizeof here;
  getsockname(fd, reinterpret_cast<sockaddr*>(&here), &size);
  size = sizeof there;
  getpeername(fd, reinterpret_cast<sockaddr*>(&there), &size);
  return std::minmax(here.sin_port, there.sin_port);
}

void close_for_both(int fd) { shutdown(fd, SHUT_RDWR); }

constexpr std::size_t kLanes = 4;

// Sends messages and breaks `broken` of the lanes meanwhile. Asserts that all messages arrive.
void send_while_lanes_break(Ends& ends, const std::set<int>& others, void (*break_connection)(int fd),
                            std::size_t broken) {
  constexpr std::size_t kMessages = 4;
  const auto data = pattern(1 << 20, unsigned(broken));
  std::vector<std::vector<std::byte>> places(kMessages, std::vector<std::byte>(data.size()));
  std::vector<Request*> receives, sends;
  for (auto& place : places) receives.push_back(post_recv(*ends.recv, place));
  for (std::size_t i = 0; i < kMessages; ++i) sends.push_back(post_send(*ends.send, data));
  Result<Progress> last = ends.send->test(sends.back());  // gives each lane its first frames
  ASSERT_TRUE(last.ok()) << last.status().message();
  if (last->done) sends.pop_back();
  std::set<int> lanes = connections();
  for (const int fd : others) lanes.erase(fd);
  ASSERT_EQ(lanes.size(), 2 * kLanes) << "both ends' of each";
  std::set<std::pair<std::uint16_t, std::uint16_t>> gone;
  for (const int fd : lanes) {
    if (gone.size() == broken) break;
    if (gone.insert(ports(fd)).second) break_connection(fd);
  }
  for (std::size_t i = 0; i < kMessages; ++i) {
    const Result<std::size_t> received = finish(*ends.recv, receives[i]);
    ASSERT_TRUE(received.ok()) << received.status().message();
    ASSERT_TRUE(places[i] == data);
  }
  for (Request* send : sends) ASSERT_TRUE(finish(*ends.send, send).ok());
}

void break_lanes(void (*break_connection)(int fd), Config config = loopback()) {
  const std::set<int> others = connections();
  config.lanes_per_rail = kLanes;
  config.family = AddressFamily::v4;
  const auto a = start_engine(config), b = start_engine(config);
  ASSERT_TRUE(a && b);
  Ends ends = join(*a, *b);
  ASSERT_TRUE(ends);
  for (const std::size_t broken : {1, 2, 3, 1}) {
    SCOPED_TRACE(broken);
    ASSERT_TRUE(eventually([&] { return lanes_of(*a) == kLanes && lanes_of(*b) == kLanes; }))
        << lanes_of(*a) << ", " << lanes_of(*b);
    send_while_lanes_break(ends, others, break_connection, broken);
    if (testing::Test::HasFatalFailure()) return;
  }
  ASSERT_TRUE(eventually([&] { return lanes_of(*a) == kLanes && lanes_of(*b) == kLanes; }));
  ASSERT_TRUE(transfer(ends, 4 << 20, 9));
  const EngineStats stats = a->stats();
  EXPECT_EQ(stats.sessions.size(), 1u);
  EXPECT_LE(stats.sessions.front().lanes.size(), 3 * kLanes) << "places are used again";
}

TEST(Failover, closed_lanes_end_no_request_and_come_back) { break_lanes(close_for_both); }
TEST(Failover, closed_lanes_come_back_with_a_key) {
  const KeyFile file;
  Config config = loopback();
  config.key_file = file.path();
  break_lanes(close_for_both, config);
}
TEST(Failover, closed_lanes_come_back_encrypted) {
  const KeyFile file;
  Config config = loopback();
  config.key_file = file.path();
  config.encrypt = true;
  break_lanes(close_for_both, config);
}
TEST(Failover, reset_lanes_end_no_request_and_come_back) { break_lanes(reset_connection); }

// No lane is left then to carry a fence, so no place of a lost lane becomes free by a fence.
TEST(Failover, a_full_session_may_lose_every_lane_at_once) {
  constexpr std::size_t kAll = 64;
  const std::set<int> others = connections();
  Config config = loopback();
  config.lanes_per_rail = kAll;
  config.family = AddressFamily::v4;
  const auto a = start_engine(config), b = start_engine(config);
  ASSERT_TRUE(a && b);
  Ends ends = join(*a, *b);
  ASSERT_TRUE(ends);
  for (int time = 0; time < 3; ++time) {
    ASSERT_TRUE(eventually([&] { return lanes_of(*a) >= kAll && lanes_of(*b) >= kAll; }))
        << lanes_of(*a) << ", " << lanes_of(*b);
    ASSERT_TRUE(transfer(ends, 4 << 20, 9));
    std::set<int> lanes = connections();
    for (const int fd : others) lanes.erase(fd);
    for (const int fd : lanes) reset_connection(fd);
    ASSERT_TRUE(transfer(ends, 1 << 20, 3));
  }
}

}  // namespace
}  // namespace railweave::engine_test

// Lanes that break are the engine's own affair: no request fails while there is another.
#include <dirent.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <algorithm>
#include <set>

#include "two_engines.h"

namespace railweave::engine_test {
namespace {

// Descriptors of this process's TCP connections; a lane of two engines here has two.
std::set<int> connections() {
  std::set<int> found;
  DIR* dir = opendir("/proc/self/fd");
  while (const dirent* entry = readdir(dir)) {
    const int fd = std::atoi(entry->d_name);
    sockaddr_storage peer{};
    socklen_t size = sizeof peer;
    if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) == 0 && peer.ss_family == AF_INET) found.insert(fd);
  }
  closedir(dir);
  return found;
}

void close_for_both(int fd) { shutdown(fd, SHUT_RDWR); }

// What was under way is lost. Past the thread sanitizer, which takes connect() for the birth of the descriptor.
void reset(int fd) {
  sockaddr nobody{};
  nobody.sa_family = AF_UNSPEC;
  syscall(SYS_connect, fd, &nobody, sizeof nobody);
}

std::size_t lanes_of(const Engine& engine) {
  const EngineStats stats = engine.stats();
  if (stats.sessions.empty()) return 0;
  return std::size_t(std::ranges::count(stats.sessions.front().lanes, false, &LaneStats::closed));
}

void break_all_but_one(void (*break_connection)(int fd)) {
  constexpr std::size_t kLanes = 4, kMessages = 4;
  const std::set<int> others = connections();
  Config config = loopback();
  config.lanes_per_rail = kLanes;
  config.family = AddressFamily::v4;
  const auto a = start_engine(config), b = start_engine(config);
  ASSERT_TRUE(a && b);
  Ends ends = join(*a, *b);
  ASSERT_TRUE(ends);
  for (std::size_t left = kLanes; left > 0; --left) {
    SCOPED_TRACE(left);
    ASSERT_TRUE(eventually([&] { return lanes_of(*a) == left && lanes_of(*b) == left; })) << lanes_of(*a) << ", " << lanes_of(*b);
    const auto data = pattern(1 << 20, unsigned(left));
    std::vector<std::vector<std::byte>> places(kMessages, std::vector<std::byte>(data.size()));
    std::vector<Request*> receives, sends;
    for (auto& place : places) receives.push_back(post_recv(*ends.recv, place));
    for (std::size_t i = 0; i < kMessages; ++i) sends.push_back(post_send(*ends.send, data));
    Result<Progress> last = ends.send->test(sends.back());  // each lane has its first frames
    ASSERT_TRUE(last.ok()) << last.status().message();
    if (last->done) sends.pop_back();
    if (left > 1) {
      std::set<int> lanes = connections();
      for (int fd : others) lanes.erase(fd);
      ASSERT_FALSE(lanes.empty());
      break_connection(*lanes.begin());
    }
    for (std::size_t i = 0; i < kMessages; ++i) {
      const Result<std::size_t> received = finish(*ends.recv, receives[i]);
      ASSERT_TRUE(received.ok()) << received.status().message();
      ASSERT_TRUE(places[i] == data);
    }
    for (Request* send : sends) ASSERT_TRUE(finish(*ends.send, send).ok());
  }
  EXPECT_EQ(a->stats().sessions.size(), 1u);
}

TEST(Failover, LanesThatCloseOneAfterTheOtherEndNoRequest) { break_all_but_one(close_for_both); }
TEST(Failover, LanesThatAreResetOneAfterTheOtherEndNoRequest) { break_all_but_one(reset); }

}  // namespace
}  // namespace railweave::engine_test

// Many rails and a bounded number of lanes: every pair of rails has its share, also after its lanes were lost.
#include <dirent.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <map>
#include <thread>

#include "engine/api/host_engine.h"
#include "sockets.h"
#include "two_engines.h"

namespace railweave::engine_test {
namespace {

using Counts = std::map<std::pair<int, int>, int>;  // number of open lanes, by the last bytes of their two addresses

// Starts an engine with `count` fast rails, whose addresses are 127.0.0.`first` and the ones after it. All rails reach
// each other, as behind one router.
std::shared_ptr<engine::HostEngine> with_rails(int count, int lanes_each, int first) {
  Config config = loopback();
  config.lanes_per_rail = lanes_each;
  config.shm = false;
  std::vector<Rail> rails;
  Device all;
  for (int i = 0; i < count; ++i) {
    Rail rail;
    rail.name = "rail" + std::to_string(i);
    rail.ifindex = 900 + i;
    rail.addresses = {
        Address{.family = Address::Family::v4, .bytes = {127, 0, 0, std::uint8_t(first + i)}, .prefix_bits = 8}};
    rail.speed = Rate::from_megabits(400'000);
    rails.push_back(rail);
    all.rails.push_back(i);
  }
  auto engine = std::make_shared<engine::HostEngine>(config, rails, std::vector<Device>{all});
  const Status started = engine->start();
  if (started.ok()) return engine;
  ADD_FAILURE() << started.message();
  return nullptr;
}

int last_byte(const std::string& address) { return std::stoi(address.substr(address.rfind('.') + 1)); }

Counts lanes(const Engine& engine) {
  Counts counts;
  for (const SessionStats& session : engine.stats().sessions)
    for (const LaneStats& lane : session.lanes)
      if (!lane.closed) ++counts[{last_byte(lane.local_address), last_byte(lane.remote_address)}];
  return counts;
}

// Resets at most `most` connections whose own address is 127.0.0.`from`.
void reset_rail(int from, int most = 1000) {
  for (const int fd : connections()) {
    sockaddr_in here{};
    socklen_t size = sizeof here;
    if (getsockname(fd, reinterpret_cast<sockaddr*>(&here), &size) != 0 ||
        int(ntohl(here.sin_addr.s_addr) & 255) != from || most-- <= 0)
      continue;
    reset_connection(fd);
  }
}

// Resets all connections whose own address is among `from`, one right after the other: no lane comes up meanwhile.
void reset_rails(const std::vector<int>& from) {
  std::vector<int> theirs;
  for (const int fd : connections()) {
    sockaddr_in here{};
    socklen_t size = sizeof here;
    if (getsockname(fd, reinterpret_cast<sockaddr*>(&here), &size) != 0) continue;
    if (std::ranges::find(from, int(ntohl(here.sin_addr.s_addr) & 255)) != from.end()) theirs.push_back(fd);
  }
  for (const int fd : theirs) reset_connection(fd);
}

// Returns the listening socket at 127.0.0.`at`.
int listener_of(int at) {
  int found = -1;
  DIR* dir = opendir("/proc/self/fd");
  while (const dirent* entry = readdir(dir)) {
    const int fd = std::atoi(entry->d_name);
    sockaddr_in here{};
    int listens = 0;
    socklen_t size = sizeof here, length = sizeof listens;
    if (getsockname(fd, reinterpret_cast<sockaddr*>(&here), &size) != 0 || int(ntohl(here.sin_addr.s_addr) & 255) != at)
      continue;
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) == 0 && listens != 0) found = fd;
  }
  closedir(dir);
  EXPECT_GE(found, 0);
  return found;
}

// Makes the listener at 127.0.0.`listener` drop all packets from 127.0.0.`from`; 0: all packets.
void drop_packets(int listener, int from) {
  constexpr std::uint32_t kSource = std::uint32_t(SKF_NET_OFF) + 12;
  sock_filter program[] = {{BPF_LD | BPF_W | BPF_ABS, 0, 0, kSource},
                           {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, (127u << 24) + std::uint32_t(from)},
                           {BPF_RET | BPF_K, 0, 0, 0},
                           {BPF_RET | BPF_K, 0, 0, ~0u}};
  if (from == 0) program[0] = {BPF_RET | BPF_K, 0, 0, 0};
  const sock_fprog filter{4, program};
  EXPECT_EQ(setsockopt(listener_of(listener), SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter), 0);
}

void pass_packets(int listener) {
  const int none = 0;
  EXPECT_EQ(setsockopt(listener_of(listener), SOL_SOCKET, SO_DETACH_FILTER, &none, sizeof none), 0);
}

TEST(LanePlan, lanes_beyond_the_room_are_shared_evenly_among_pairs) {
  const auto a = with_rails(5, 16, 10), b = with_rails(5, 16, 110);
  ASSERT_TRUE(a && b);
  Ends ends = join(*a, *b);
  ASSERT_TRUE(ends);
  const auto are_even = [](const Counts& counts) {
    return counts.size() == 5 && std::ranges::all_of(counts, [](const auto& pair) { return pair.second == 12; });
  };
  EXPECT_TRUE(eventually([&] { return are_even(lanes(*a)); })) << testing::PrintToString(lanes(*a));
  EXPECT_TRUE(transfer(ends, 4 << 20, 1));
}

// Backup lanes replace the lost pair at once: they must not keep its share.
TEST(LanePlan, a_lost_pair_gets_its_lanes_back) {
  for (const auto& [rails, each] : {std::pair{2, 1}, std::pair{8, 8}}) {
    SCOPED_TRACE(rails);
    const auto a = with_rails(rails, each, 10), b = with_rails(rails, each, 110);
    ASSERT_TRUE(a && b);
    Ends ends = join(*a, *b);
    ASSERT_TRUE(ends);
    const int wanted = rails * each, half = std::max(1, each / 2);
    ASSERT_TRUE(eventually([&] { return lanes_of(*a) == std::size_t(wanted); }));
    const Counts before = lanes(*a);
    const auto first = std::ranges::find_if(before, [](const auto& pair) { return pair.first.first == 10; });
    // On a busy machine the first lane may lead to another rail than 110, and so do the lanes of the plan.
    ASSERT_NE(first, before.end());
    reset_rail(10);
    EXPECT_TRUE(transfer(ends, 1 << 20, 2));
    EXPECT_TRUE(eventually([&] { return lanes(*a)[first->first] >= half; }, std::chrono::seconds(5)))
        << testing::PrintToString(lanes(*a));
    EXPECT_TRUE(transfer(ends, 1 << 20, 3));
  }
}

// Two rails at either end. Of their four pairs only 11 to 110 still accepts connections; it is a backup pair and has no
// lane yet.
struct OnlyAStandInConnects {
  explicit OnlyAStandInConnects(int lanes_each) : a(with_rails(2, lanes_each, 10)), b(with_rails(2, lanes_each, 110)) {
    if (!a || !b) return;
    ends = join(*a, *b);
    is_ready = ends && eventually([&] { return lanes_of(*a) == std::size_t(2 * lanes_each); });
    drop_packets(111, 0);
    drop_packets(110, 10);
  }

  const std::shared_ptr<engine::HostEngine> a, b;
  Ends ends;
  bool is_ready = false;
};

// One rail is dead at either end: the backup pair gets all the lanes of a pair, not one.
TEST(LanePlan, a_backup_pair_for_all_has_all_lanes) {
  OnlyAStandInConnects two(4);
  ASSERT_TRUE(two.is_ready);
  reset_rails({10, 11});
  EXPECT_TRUE(eventually([&] { return lanes(*two.a) == Counts{{{11, 110}, 4}}; })) << lanes_of(*two.a);
  EXPECT_TRUE(transfer(two.ends, 1 << 20, 4));
}

// The backup pair is lost with the others and backs off as they do. The peer, which has no lane either, probes by the
// pairs that accept no connection from this side.
TEST(LanePlan, a_backup_pair_for_all_is_dialled_while_others_are_probed) {
  OnlyAStandInConnects two(1);
  ASSERT_TRUE(two.is_ready);
  reset_rail(10);
  for (unsigned round = 0; round < 4; ++round) {  // chance decides which pair's backoff ends first
    ASSERT_TRUE(eventually([&] {
      return lanes(*two.a).contains({11, 110});
    })) << "round "
        << round << ": " << testing::PrintToString(lanes(*two.a));
    ASSERT_TRUE(transfer(two.ends, 1 << 10, round));
    reset_rails({11});
  }
  EXPECT_TRUE(eventually([&] {
    return lanes(*two.a) == Counts{{{11, 110}, 1}};
  })) << testing::PrintToString(lanes(*two.a));
}

// The pair has two of its four lanes, and the dials for the other two failed.
TEST(LanePlan, a_pair_that_failed_fills_again) {
  const auto a = with_rails(1, 4, 10), b = with_rails(1, 4, 110);
  ASSERT_TRUE(a && b);
  Ends ends = join(*a, *b);
  ASSERT_TRUE(ends);
  ASSERT_TRUE(eventually([&] { return lanes_of(*a) == 4; }));
  drop_packets(110, 0);
  reset_rail(10, 2);
  std::this_thread::sleep_for(std::chrono::milliseconds(3500));  // the engine has given up its dials
  EXPECT_EQ(lanes_of(*a), 2u);
  pass_packets(110);
  EXPECT_TRUE(eventually([&] { return lanes_of(*a) == 4; }, std::chrono::seconds(6))) << lanes_of(*a);
}

}  // namespace
}  // namespace railweave::engine_test

// Log lines about rails: one when a rail stops carrying, one when it carries again, none for orderly ends.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <set>
#include <thread>

#include "engine/api/host_engine.h"
#include "engine/rails/rail_log.h"
#include "sockets.h"
#include "two_engines.h"

namespace railweave::engine_test {
namespace {

using Lines = std::vector<std::string>;

// A loss of all lanes is logged within this time.
constexpr Nanos kTellsLast = engine::RailLog::kPatience + 2 * engine::RailLog::kSettle;

// Two rails on loopback with two lanes each. The rails have different address families, so neither replaces the other.
std::shared_ptr<Engine> start_with_two_rails() {
  Rail v4, v6;
  v4.name = "four";
  v4.addresses = {Address{.family = Address::Family::v4, .bytes = {127, 0, 0, 1}, .prefix_bits = 32}};
  v6.name = "six";
  v6.addresses = {Address{.family = Address::Family::v6, .prefix_bits = 128}};
  v6.addresses[0].bytes[15] = 1;
  v4.loopback = v6.loopback = true;
  Config config = loopback();
  config.lanes_per_rail = 2;
  config.interfaces = "=none";  // otherwise a change on this host would add real rails
  Device both;
  both.rails = {0, 1};
  auto engine = std::make_shared<engine::HostEngine>(config, std::vector<Rail>{v4, v6}, std::vector<Device>{both});
  const Status started = engine->start();
  if (started.ok()) return engine;
  ADD_FAILURE() << started.message();
  return nullptr;
}

Lines about_rails(const LogCapture& log, const std::string& word) {
  Lines found;
  for (const std::string& line : log.warnings())
    if (line.starts_with("rail ") && line.find(word) != std::string::npos) found.push_back(line);
  return found;
}

class RailLogTest : public testing::Test {
 protected:
  void SetUp() override {
    others_ = connections();
    a_ = start_with_two_rails();
    b_ = start_with_two_rails();
    ASSERT_TRUE(a_ && b_);
    ends_ = join(*a_, *b_);
    ASSERT_TRUE(ends_);
    ASSERT_TRUE(whole());
  }
  // Shuts down both ends of every lane of one address family.
  void break_rail(int family) {
    for (const int fd : connections())
      if (!others_.contains(fd) && family_of(fd) == family) shutdown(fd, SHUT_RDWR);
  }
  // Shuts down all listeners of this process: later dials are refused, as after the death of a process.
  static void close_listeners() {
    for (int fd = 0; fd < 1024; ++fd) {
      int listens = 0;
      socklen_t size = sizeof listens;
      if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens != 0 && family_of(fd) != AF_UNIX)
        shutdown(fd, SHUT_RD);
    }
  }
  bool whole() {
    return eventually([&] { return lanes_of(*a_) == 4 && lanes_of(*b_) == 4; });
  }

  std::set<int> others_;
  std::shared_ptr<Engine> a_, b_;
  Ends ends_;
};

// A loss is logged only if the lanes are still missing 50 ms later. Their backoff grows with each loss, so that a loss
// is logged sooner or later, however slow the machine.
TEST_F(RailLogTest, a_rail_is_logged_once_when_lost_and_once_when_back) {
  const LogCapture log;
  std::size_t breaks = 0;
  for (; breaks < 5 && about_rails(log, "lanes left").size() < 2; ++breaks) {
    break_rail(AF_INET6);
    ASSERT_TRUE(eventually([&] { return lanes_of(*a_) == 2 && lanes_of(*b_) == 2; }));
    ASSERT_TRUE(whole());
  }
  ASSERT_TRUE(transfer(ends_, 1 << 20, 1));
  const Lines lost = about_rails(log, "closed by the peer; 2 of 4 lanes left");
  for (const std::string& line : lost) EXPECT_TRUE(line.starts_with("rail six to ")) << line;
  EXPECT_GE(lost.size(), 2u) << log.all();
  EXPECT_LE(lost.size(), 2 * breaks) << log.all();
  EXPECT_EQ(about_rails(log, "carries again").size(), lost.size()) << log.all();
  EXPECT_EQ(log.warnings().size(), 2 * lost.size()) << log.all();
}

TEST_F(RailLogTest, a_lost_lane_of_a_rail_that_has_another_is_not_logged) {
  const LogCapture log;
  const std::set<int> now = connections();
  shutdown(*std::ranges::find_if(now, [&](int fd) { return !others_.contains(fd); }), SHUT_RDWR);
  ASSERT_TRUE(eventually([&] { return log.all().find("closed by the peer") != std::string::npos; }));
  ASSERT_TRUE(whole());
  std::this_thread::sleep_for(2 * engine::RailLog::kSettle);
  EXPECT_EQ(log.warnings(), Lines{});
}

TEST_F(RailLogTest, an_engine_that_leaves_is_not_logged) {
  const LogCapture log;
  ends_ = {};
  a_.reset();
  ASSERT_TRUE(eventually([&] { return lanes_of(*b_) == 0; }));
  std::this_thread::sleep_for(kTellsLast);
  EXPECT_EQ(log.warnings(), Lines{});
}

TEST_F(RailLogTest, a_lost_session_is_logged_in_one_line) {
  std::vector<std::byte> place(100);
  Request* const receive = post_recv(*ends_.recv, place);
  const LogCapture log;
  close_listeners();
  break_rail(AF_INET);
  break_rail(AF_INET6);
  EXPECT_FALSE(finish(*ends_.recv, receive).ok());
  std::this_thread::sleep_for(kTellsLast);
  Lines told = log.warnings();
  // The closed listeners log this line.
  std::erase_if(told, [](const std::string& line) { return line.starts_with("cannot accept connections"); });
  ASSERT_EQ(told.size(), 1u) << log.all();
  EXPECT_TRUE(told[0].starts_with("connection to ")) << log.all();
}

}  // namespace
}  // namespace railweave::engine_test

// Engines of running processes: finding them, and the report of their statistics.
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/stats/stats_client.h"
#include "engine/stats/stats_server.h"
#include "info/process_finder.h"
#include "info/process_report.h"

namespace railweave::info {
namespace {

using engine::StatsServer;
using std::chrono::seconds;

const RunningEngine kEngine{"/tmp/x.sock", 7, 7, "python3"};
constexpr char kInstance[] = "0123456789abcdef0123456789abcdef";

EngineStats example() {
  LaneStats lane;
  lane.wire = "tcp";
  lane.rail = "eth0";
  lane.local_address = "10.0.0.1:40000";
  lane.remote_address = "10.0.0.2:41000";
  lane.bytes_sent = 3'000'000;
  lane.retransmits = 2;
  lane.outstanding_bytes = 4096;
  SessionStats session;
  session.peer = "hostb 4711 fedcba98";
  session.lanes = {lane, lane};
  session.lanes[1].rate = Rate::from_megabits(2000);
  session.send_streams = 1;
  session.recvs_pending = 2;
  session.oldest_request_age = std::chrono::microseconds(1500);
  EngineStats stats;
  stats.instance = kInstance;
  stats.sessions = {session};
  return stats;
}

class Process : public testing::Test {
 protected:
  Process() {
    std::string name = "/tmp/rw-info-XXXXXX";
    EXPECT_NE(nullptr, mkdtemp(name.data()));
    dir_ = name;
  }
  ~Process() override { std::filesystem::remove_all(dir_); }

  // Starts a child process that answers `answers` clients and exits. Returns once clients can connect.
  pid_t serving_child(int answers) const {
    int ready[2];
    EXPECT_EQ(0, ::pipe(ready));
    const pid_t child = ::fork();
    if (child == 0) {
      auto server = StatsServer::open(dir_, kInstance);
      [[maybe_unused]] const auto written = ::write(ready[1], "x", 1);
      for (int i = 0; server.ok() && i < answers; ++i) {
        pollfd waiting{server.value()->descriptor(), POLLIN, 0};
        if (::poll(&waiting, 1, 10'000) != 1) break;
        if (!server.value()->serve(example).ok()) break;
      }
      server.value().reset();
      ::_exit(0);
    }
    char mark;
    EXPECT_EQ(1, ::read(ready[0], &mark, 1));
    ::close(ready[0]);
    ::close(ready[1]);
    return child;
  }

  std::string dir_;
};

TEST_F(Process, is_found_by_what_the_kernel_says_and_not_by_the_sockets_name) {
  const pid_t child = serving_child(100);
  // Pretend that a process of another pid namespace has this child's pid.
  const auto stranger = StatsServer::open(dir_, "ffffffff");
  ASSERT_TRUE(stranger.ok());
  std::filesystem::rename(stranger.value()->path(), dir_ + "/railweave-" + std::to_string(child) + "-ffffffff.sock");
  const auto found = engines_of(dir_, child);
  ASSERT_TRUE(found.ok()) << found.status().message();
  ASSERT_EQ(1u, found.value().size());
  EXPECT_NE(std::string::npos, found.value()[0].path.find("-01234567.sock"));
  const auto stats = engine::fetch_stats(found.value()[0].path, seconds(5));
  ASSERT_TRUE(stats.ok()) << stats.status().message();
  EXPECT_EQ(kInstance, stats.value().instance);
  ::kill(child, SIGKILL);
  EXPECT_EQ(child, ::waitpid(child, nullptr, 0));
}

TEST_F(Process, without_an_engine_gets_a_list_of_those_with_one) {
  EXPECT_NE(std::string::npos, engines_of(dir_, 1).status().message().find("no other process answers there"));
  const auto server = StatsServer::open(dir_, kInstance);
  const Status status = engines_of(dir_, 1).status();
  EXPECT_EQ(Code::invalid_argument, status.code());
  EXPECT_NE(std::string::npos, status.message().find("\n  pid " + std::to_string(::getpid()) + " (unit_info)"))
      << status.message();
}

TEST(ProcessReport, sums_lanes_by_rail) {
  const auto rails = totals_by_rail(example());
  ASSERT_EQ(1u, rails.size());
  EXPECT_EQ(2, rails.at("eth0").lanes);
  EXPECT_EQ(6'000'000u, rails.at("eth0").bytes_sent);
  EXPECT_EQ(4u, rails.at("eth0").retransmits);
}

TEST(ProcessReport, names_rails_without_a_lane) {
  EngineStats stats = example();
  stats.rails = {{"eth0", {"10.0.0.1"}, true}, {"eth1", {"10.0.1.1", "fd00::1"}, false}};
  const auto rails = totals_by_rail(stats);
  ASSERT_EQ(2u, rails.size());
  EXPECT_EQ(0, rails.at("eth1").lanes);
  const std::string with_sessions = process_text(kEngine, stats);
  stats.sessions.clear();
  for (const std::string& text : {with_sessions, process_text(kEngine, stats)}) {
    EXPECT_NE(std::string::npos, text.find("  eth1  down  ")) << text;
    EXPECT_NE(std::string::npos, text.find("  10.0.1.1 fd00::1\n")) << text;
  }
  EXPECT_EQ("10.0.1.1", process_json(kEngine, stats)["rails"][1]["addresses"][0]);
  EXPECT_EQ(false, process_json(kEngine, stats)["rails"][1]["link_up"]);
}

TEST(ProcessReport, of_an_engine_without_rails_has_those_of_its_lanes) {
  EXPECT_NE(std::string::npos, process_text(kEngine, example()).find("  eth0  -  "))
      << process_text(kEngine, example());
}

TEST(ProcessReport, survives_a_name_that_is_no_text) {
  const RunningEngine engine{"/tmp/x.sock", 7, 7, "caf\xe9"};
  EXPECT_NE(std::string::npos, json_text(process_json(engine, example())).find("caf\\ufffd"));
}

// DEL, and U+009B: a terminal may take the latter for the beginning of a command.
TEST(ProcessReport, gives_the_terminal_no_command) {
  const RunningEngine engine{"/tmp/x.sock", 7, 7, "a\x1b[2Jb\x7f\xc2\x9b"};
  EngineStats stats = example();
  stats.sessions[0].peer = "h\x1b[2J";
  for (LaneStats& lane : stats.sessions[0].lanes) lane.rail = "eth\x1b[2J";
  for (const std::string& text :
       {process_text(engine, stats), json_text(process_json(engine, stats)), engines_text({engine})})
    for (const char c : text) ASSERT_TRUE(c == '\n' || (c >= ' ' && c <= '~')) << int(c) << " in " << text;
  EXPECT_NE(std::string::npos, process_text(engine, stats).find("Process 7 (a?[2Jb?"));
}

TEST(ProcessReport, shows_what_is_pending) {
  const std::string text = process_text(kEngine, example());
  for (const char* part :
       {"Process 7 (python3), instance 0123", "Session with hostb 4711 fedcba98: 1 send stream, 0 receive streams;",
        "0 sends and 2 receives pending, the oldest for 1.50 ms", "10.0.0.2:41000", "2.00 Gb/s"}) {
    EXPECT_NE(std::string::npos, text.find(part)) << part << "\n" << text;
  }
  const auto json = process_json(kEngine, example());
  EXPECT_EQ(7, json["pid"]);
  EXPECT_EQ(1'500'000, json["oldest_request_age_ns"]);
  EXPECT_EQ(3'000'000, json["sessions"][0]["lanes"][0]["bytes_sent"]);
}

TEST(ProcessReport, shows_what_credit_windows_allow) {
  EngineStats stats = example();
  LaneStats& lane = stats.sessions[0].lanes[0];
  lane.send_window_bytes = 40 * KiB;
  lane.without_credit = std::chrono::milliseconds(250);
  lane.recv_window_bytes = 8 * KiB;
  lane.rail_senders = 9;
  const std::string text = process_text(kEngine, stats);
  for (const char* part : {"MAY SEND", "41.0 KB", "8.19 KB", "250 ms", "  9", "any"})
    EXPECT_NE(text.npos, text.find(part)) << part << "\n" << text;
}

}  // namespace
}  // namespace railweave::info

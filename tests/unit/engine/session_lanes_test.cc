// SessionLanes without a session: verdicts, lanes that take time to end, silence and denials.
#include <string>
#include <string_view>
#include <vector>

#include "railweave/log.h"
#include "tests/unit/engine/paper_lanes.h"

namespace railweave::engine {
namespace {

using namespace std::chrono_literals;
using Kind = HealthVerdict::Kind;
using Why = HealthVerdict::Why;

TEST_F(SessionLanesTest, a_verdict_of_an_older_generation_is_dropped) {
  use_place_again();
  EXPECT_TRUE(lanes_.carry_out(
      {verdict(Kind::give_up, {1, 1}, 1, Why::too_slow), verdict(Kind::send_heartbeat_probe, {1, 1}, 1)}));
  lanes_.drive(1 << 20, true);
  EXPECT_EQ(lanes_.table().rails_of_lanes().size(), 2u);
  EXPECT_TRUE(lanes_.take_losses().empty());
  EXPECT_TRUE(lanes_.take_slow_pairs().empty());
  const auto asks = [](const FrameHeader& h) {
    return h.type == FrameType::keep && h.a == protocol::kKeepAnswerMe && h.length == 0;
  };
  EXPECT_TRUE(std::ranges::none_of(paper_[2].sent, asks));
}

TEST_F(SessionLanesTest, a_verdict_of_this_generation_is_carried_out_once) {
  use_place_again();
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(lanes_.carry_out({verdict(Kind::give_up, {1, 2}, 2, Why::too_slow)}));
    EXPECT_EQ(lanes_.table().rails_of_lanes(), (std::vector<RailPair>{{0, 0}}));
  }
  EXPECT_EQ(lanes_.take_losses().size(), 1u);
  EXPECT_EQ(lanes_.take_slow_pairs(), (std::vector<RailPair>{{2, 2}}));
}

TEST_F(SessionLanesTest, a_lost_session_is_over_and_later_verdicts_are_left_out) {
  use_place_again();
  EXPECT_FALSE(lanes_.carry_out({verdict(Kind::peer_lost, {}, 0), verdict(Kind::peer_stalled, {}, 0)}));
  EXPECT_TRUE(protocol_.is_over());
  EXPECT_EQ(protocol_.lock()->error().message(), "no answer on eth0, eth2 for 10 s (RAILWEAVE_PEER_TIMEOUT)");
}

TEST_F(SessionLanesTest, retire__the_log_says_why_a_lane_retires) {
  static std::vector<std::string> lines;
  add_lane(0, 0);
  add_lane(1, 1);
  add_lane(2, 0);
  const LogSink before =
      set_log_sink([](LogLevel, LogTopic, const char*, int, std::string_view text) { lines.emplace_back(text); });
  lanes_.retire({{{1, 1}, 0}, {{0, 0}, 1}});
  lanes_.retire({{{1, 1}, 0}});
  set_log_sink(before);
  EXPECT_EQ(lines, (std::vector<std::string>{"lane 1 to paper retires: primary pairs carry again",
                                             "lane 2 to paper retires: its pair has more lanes than planned",
                                             "lane 2 to paper serves again"}));
}

TEST_F(SessionLanesTest, retire__a_lane_of_the_worse_wire_goes_first) {
  static std::vector<std::string> lines;
  add_lane(0, 0, "better");
  add_lane(1, 0);
  add_lane(2, 0, "better");
  const LogSink before =
      set_log_sink([](LogLevel, LogTopic, const char*, int, std::string_view text) { lines.emplace_back(text); });
  lanes_.retire({{{0, 0}, 2, "paper"}});
  set_log_sink(before);
  EXPECT_EQ(lines, (std::vector<std::string>{"lane 1 to paper retires: a lane of a better wire serves instead"}));
}

TEST_F(SessionLanesTest, carry_out__the_log_says_how_long_a_peer_is_stopped) {
  static std::string line;
  add_lane(0, 0);
  const LogSink before = set_log_sink([](LogLevel, LogTopic, const char*, int, std::string_view text) { line = text; });
  EXPECT_TRUE(lanes_.carry_out({verdict(Kind::peer_stopped, {}, 0)}));
  set_log_sink(before);
  EXPECT_TRUE(line.starts_with("paper has not answered for 5 s, though its kernel does: stopped, ")) << line;
}

// ----------------------------------------------------------------------------------------- lanes that take time to end

TEST_F(SessionLanesTest, a_lane_is_lost_only_once_its_wire_let_go_of_it) {
  add_lane(0, 0);
  add_lane(1, 1);
  paper_[1].lingers = true;
  paper_[1].ending = Status(Code::remote, Scope::lane, "closed by the peer");
  drive();
  const LaneDriver& ending = lanes_.table().at(1);
  EXPECT_TRUE(ending.is_ending());
  EXPECT_FALSE(ending.is_open());
  EXPECT_FALSE(paper_[1].closed);
  EXPECT_TRUE(lanes_.table().any_is_ending());
  EXPECT_EQ(lanes_.table().rails_of_lanes(), (std::vector<RailPair>{{0, 0}}));
  EXPECT_EQ(fences(0), 0) << "the peer would send again what this lane may still touch";
  EXPECT_TRUE(lanes_.take_losses().empty());
  add_lane(2, 2);
  EXPECT_EQ(lanes_.table().at(2).id(), 2) << "its place is not free yet";
  paper_[1].lingers = false;
  drive();
  EXPECT_TRUE(paper_[1].closed);
  EXPECT_EQ(fences(0) + fences(2), 1);
  EXPECT_EQ(lanes_.take_losses().size(), 1u);
  add_lane(3, 3);
  EXPECT_EQ(lanes_.table().at(1).id(), 3);
}

TEST_F(SessionLanesTest, poll__sees_that_a_lane_has_ended_though_nobody_drives) {
  add_lane(0, 0);
  add_lane(1, 1);
  paper_[1].lingers = true;
  EXPECT_TRUE(lanes_.carry_out({verdict(Kind::give_up, {1, 1}, 1, Why::unanswered)}));
  lanes_.poll(false);
  EXPECT_TRUE(lanes_.table().at(1).is_ending());
  paper_[1].lingers = false;
  lanes_.poll(false);
  EXPECT_TRUE(lanes_.table().at(1).is_free());
  EXPECT_TRUE(protocol_.has_work()) << "its FENCE";
  EXPECT_EQ(lanes_.take_losses().size(), 1u);
}

TEST_F(SessionLanesTest, a_last_lane_that_is_ending_ends_nothing_yet) {
  add_lane(0, 0);
  paper_[0].lingers = true;
  paper_[0].says({.type = FrameType::goodbye});
  paper_[0].ending = Status(Code::remote, Scope::lane, "closed by the peer");
  drive();
  EXPECT_TRUE(lanes_.table().at(0).is_ending());
  EXPECT_FALSE(protocol_.is_over());
  paper_[0].lingers = false;
  drive();
  EXPECT_TRUE(protocol_.is_over());
}

// Once withdraw() returns, nobody reads the memory that the caller takes back.
TEST_F(SessionLanesTest, memory_that_an_ending_lane_reads_is_waited_for) {
  add_lane(0, 0);
  add_lane(1, 1);
  paper_[1].lingers = true;
  EXPECT_TRUE(lanes_.carry_out({verdict(Kind::give_up, {1, 1}, 1, Why::unanswered)}));
  lanes_.withdraw(0, true, {});
  EXPECT_TRUE(lanes_.table().at(1).is_ending()) << "it reads nothing there";
  paper_[1].is_read = true;
  lanes_.withdraw(0, true, {});
  EXPECT_TRUE(paper_[1].closed);
  EXPECT_EQ(lanes_.take_losses().size(), 1u);
}

TEST_F(SessionLanesTest, silence_is_timed_by_the_sessions_own_clock) {
  add_lane(0, 0);
  paper_[0].silent_since = clock_.at;
  lanes_.poll(true);
  EXPECT_FALSE(lanes_.peer_is_silent());
  clock_.at += 2s;
  lanes_.poll(false);
  EXPECT_TRUE(lanes_.peer_is_silent());
  clock_.at += 10s;
  lanes_.poll(false);
  EXPECT_TRUE(protocol_.is_over());
}

const JoinAnswer kStranger{.kind = JoinAnswer::Kind::stranger, .why = "another one"};

// A process that was stopped polls late: the denial has expired, but a lane answers again.
TEST_F(SessionLanesTest, a_lane_that_answers_again_counts_before_an_expired_denial) {
  ASSERT_NO_FATAL_FAILURE(add_two_silent_lanes());
  EXPECT_FALSE(lanes_.on_answer(kStranger, {0, 0}, false));
  clock_.at += 3s;
  paper_[1].silent_since.reset();
  lanes_.poll(false);
  EXPECT_FALSE(protocol_.is_over());
}

TEST_F(SessionLanesTest, a_denial_ends_a_silent_session_when_its_time_is_over) {
  ASSERT_NO_FATAL_FAILURE(add_two_silent_lanes());
  EXPECT_FALSE(lanes_.on_answer(kStranger, {0, 0}, false));
  clock_.at += 3s;
  lanes_.poll(false);
  EXPECT_EQ(protocol_.lock()->error().message(), "connection to paper lost: it says: another one");
}

}  // namespace
}  // namespace railweave::engine

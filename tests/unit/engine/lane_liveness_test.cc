#include "engine/health/lane_liveness.h"

#include <gtest/gtest.h>

#include "wire/bootstrap/socket.h"

namespace railweave::engine {
namespace {

using namespace std::chrono_literals;
using Places = std::vector<int>;

constexpr Nanos kTimeout = 10s;

// detect_silent_lanes() with simulated lanes, called every 50 ms as by the reactor.
class LaneLivenessTest : public testing::Test {
 protected:
  struct Line {
    bool answers = true;
    bool owes = true;
    bool open = true;
    bool link_down = false;
    bool asks_later = false;
    Nanos usual{100ms};
    bool owes_keepalive = false;
    TimePoint heard_at{};
    std::optional<TimePoint> owes_since = std::nullopt;
  };
  static constexpr Nanos kSilentAfter = 300ms;

  // Polls for `time`. Returns the last verdict, and collects the lanes that were given up or asked.
  SilenceVerdict look_for(Nanos time) {
    SilenceVerdict last;
    for (const TimePoint end = now_ + time; now_ < end;) {
      now_ += 50ms;
      std::vector<std::optional<LaneLiveness>> lanes;
      for (Line& line : lines_) {
        // The kernel asks an idle lane by keepalive.
        if (line.answers && (line.owes || now_ - line.heard_at >= wire::keepalive_interval(kTimeout)))
          line.heard_at = now_;
        if (line.answers || !line.owes)
          line.owes_since.reset();
        else if (!line.owes_since)
          line.owes_since = now_;
        lanes.push_back(line.open ? std::optional(LaneLiveness{hearing_of(line), line.link_down}) : std::nullopt);
      }
      last = detect_silent_lanes(now_, lanes, kTimeout, probed_at_);
      given_up_.insert(given_up_.end(), last.given_up.begin(), last.given_up.end());
      asked_.insert(asked_.end(), last.asked.begin(), last.asked.end());
    }
    return last;
  }

  wire::AckStatus hearing_of(const Line& line) const {
    wire::AckStatus h;
    h.heard_at = line.heard_at;
    h.usual = line.usual;
    h.owes = line.owes;
    h.owes_keepalive = line.owes_keepalive;
    h.asks_later = line.asks_later;
    if (line.owes_since && now_ - *line.owes_since >= line.usual) h.late_since = line.owes_since;
    if (line.owes_since && now_ - *line.owes_since >= kSilentAfter && !line.owes_keepalive)
      h.silent_since = line.owes_since;
    return h;
  }

  TimePoint probed_at_ = TimePoint::min();
  TimePoint now_{1h};
  std::vector<Line> lines_;
  Places given_up_, asked_;
};

TEST_F(LaneLivenessTest, no_lane_is_given_up_while_all_answer) {
  lines_ = {{}, {}};
  const auto verdict = look_for(30s);
  EXPECT_FALSE(verdict.peer_is_silent);
  EXPECT_EQ(given_up_, Places{});
  EXPECT_EQ(asked_, Places{});
}

TEST_F(LaneLivenessTest, a_silent_lane_is_given_up_at_once_while_another_answers) {
  lines_ = {{}, {}, {}};
  look_for(1s);
  lines_[1].answers = false;
  look_for(300ms);
  EXPECT_EQ(given_up_, Places{});
  look_for(50ms);
  ASSERT_FALSE(given_up_.empty());
  EXPECT_EQ(given_up_.front(), 1);
  EXPECT_EQ(given_up_.back(), 1);
}

TEST_F(LaneLivenessTest, a_lane_that_owes_nothing_is_asked_first) {
  lines_ = {{}, {.owes = false}};
  look_for(1s);
  lines_[0].answers = false;
  look_for(100ms);
  EXPECT_EQ(asked_, Places{});
  look_for(300ms);
  ASSERT_FALSE(asked_.empty());
  EXPECT_EQ(asked_.front(), 1);
  EXPECT_EQ(asked_.back(), 1);
  EXPECT_EQ(given_up_, Places{}) << "1 was not heard yet";
  lines_[1].owes = true;  // the lane is asked, and answers
  look_for(50ms);
  ASSERT_FALSE(given_up_.empty());
  EXPECT_EQ(given_up_.front(), 0);
}

// The kernel retransmits a keepalive after seconds, and a KEEP as early as any data.
TEST_F(LaneLivenessTest, a_lane_that_owes_a_keepalive_answer_is_asked_itself) {
  lines_ = {{}, {.answers = false, .owes_keepalive = true}};
  look_for(100ms);
  EXPECT_EQ(asked_, Places{});
  look_for(100ms);
  ASSERT_FALSE(asked_.empty());
  EXPECT_EQ(asked_.front(), 1);
  EXPECT_EQ(given_up_, Places{});
  lines_[1].owes_keepalive = false;  // the lane owes the answer to a frame now
  look_for(300ms);
  ASSERT_FALSE(given_up_.empty());
  EXPECT_EQ(given_up_.front(), 1);
}

// Packets that arrive on the other lane soon after, within its usual time for an answer, may have been sent before both
// lanes died.
TEST_F(LaneLivenessTest, with_long_round_trips_another_lane_must_answer_later) {
  lines_ = {{.usual = 200ms}, {.usual = 200ms}};
  look_for(1s);
  lines_[0].answers = false;
  look_for(150ms);
  lines_[1].answers = false;
  look_for(5s);
  EXPECT_EQ(given_up_, Places{});
}

TEST_F(LaneLivenessTest, no_lane_is_given_up_while_all_are_silent) {
  lines_ = {{}, {}};
  look_for(1s);
  lines_[0].answers = lines_[1].answers = false;
  EXPECT_FALSE(look_for(900ms).peer_is_silent);
  EXPECT_TRUE(look_for(300ms).peer_is_silent);
  const auto late = look_for(8s);
  EXPECT_TRUE(late.peer_is_silent);
  EXPECT_FALSE(late.peer_is_gone);
  lines_[0].answers = true;
  EXPECT_FALSE(look_for(100ms).peer_is_silent);
  EXPECT_EQ(given_up_.front(), 1) << "while 0 is heard";
}

TEST_F(LaneLivenessTest, a_peer_that_is_silent_for_its_timeout_is_gone) {
  lines_ = {{}, {.owes = false}};  // lane 1 is asked, and nobody acknowledges the question
  look_for(1s);
  lines_[0].answers = lines_[1].answers = false;
  EXPECT_FALSE(look_for(kTimeout - 100ms).peer_is_gone);
  EXPECT_TRUE(look_for(400ms).peer_is_gone);
  EXPECT_EQ(given_up_, Places{});
}

TEST_F(LaneLivenessTest, a_new_lane_is_a_sign_of_life) {
  lines_ = {{}, {}};
  look_for(1s);
  lines_[0].answers = lines_[1].answers = false;
  EXPECT_TRUE(look_for(5s).peer_is_silent);
  lines_.push_back({.owes = false, .heard_at = now_});
  EXPECT_FALSE(look_for(50ms).peer_is_silent);
  EXPECT_EQ(given_up_, (Places{0, 1}));
  lines_[0].open = lines_[1].open = false;
  EXPECT_FALSE(look_for(30s).peer_is_silent) << "nobody owes an answer";
}

// The kernel of a stopped peer answers, even if only that the window is closed.
TEST_F(LaneLivenessTest, a_stopped_peer_is_not_silent_though_another_lane_is_lost) {
  lines_ = {{}, {}};
  look_for(1s);
  lines_[0].answers = false;
  look_for(1100ms);
  EXPECT_EQ(given_up_.front(), 0);
  lines_[0].open = false;
  const auto late = look_for(60s);
  EXPECT_FALSE(late.peer_is_silent);
  EXPECT_FALSE(late.peer_is_gone);
}

// The peer was stopped for long: its window is closed, and our kernel probes the window once a minute. Then the other
// rail dies.
TEST_F(LaneLivenessTest, while_a_shut_window_is_to_be_asked_about_no_peer_is_gone) {
  lines_ = {{}, {.answers = false, .owes = false, .asks_later = true, .heard_at = now_}};
  look_for(1s);
  lines_[0].answers = false;
  auto verdict = look_for(30s);
  EXPECT_TRUE(verdict.peer_is_silent);
  EXPECT_FALSE(verdict.peer_is_gone);
  EXPECT_EQ(given_up_, Places{});
  lines_[1].asks_later = false, lines_[1].owes = true;  // the window probe was sent, without an answer
  EXPECT_TRUE(look_for(1s).peer_is_gone);
}

// Arrivals do not show that our own data arrives, and no other lane is heard.
TEST_F(LaneLivenessTest, the_last_lane_is_not_given_up_though_data_arrives_on_it) {
  lines_ = {{}};
  look_for(1s);
  lines_[0].answers = false;
  for (int i = 0; i < 100; ++i) {
    look_for(50ms);
    lines_[0].heard_at = now_;
  }
  EXPECT_EQ(given_up_, Places{});
}

// The kernel ended one lane for want of an answer. The other lane, idle so far, is not awaited for the whole timeout
// again.
TEST_F(LaneLivenessTest, an_end_that_only_received_need_not_wait_twice) {
  lines_ = {{.owes = false}};
  look_for(5s);
  lines_[0].answers = false;
  look_for(kTimeout + 1s);
  lines_[0].owes = true;
  EXPECT_TRUE(look_for(1500ms).peer_is_gone);
}

TEST_F(LaneLivenessTest, a_lane_without_a_link_is_given_up_while_another_works) {
  lines_ = {{}, {.owes = false}};
  look_for(1s);
  lines_[0].link_down = true;
  look_for(50ms);
  EXPECT_EQ(given_up_, Places{0});
}

TEST_F(LaneLivenessTest, no_lane_is_given_up_without_any_link) {
  lines_ = {{}, {}};
  look_for(1s);
  for (Line& line : lines_) line.link_down = true, line.answers = false;
  EXPECT_TRUE(look_for(5s).peer_is_silent);
  EXPECT_EQ(given_up_, Places{});
  lines_[1].link_down = false;
  lines_[1].answers = true;
  look_for(50ms);
  EXPECT_EQ(given_up_, Places{0});
}

// A peer that probes is alive. Its lane may still come, because the outage may end just before the timeout.
TEST_F(LaneLivenessTest, a_peer_that_probes_has_some_time_more) {
  lines_ = {Line{}, Line{}};
  look_for(1s);
  for (Line& line : lines_) line.answers = false;
  EXPECT_FALSE(look_for(kTimeout - 500ms).peer_is_gone);
  probed_at_ = now_;
  EXPECT_FALSE(look_for(2s).peer_is_gone);
  EXPECT_TRUE(look_for(2s).peer_is_gone) << "no lane came of it";
}

TEST_F(LaneLivenessTest, a_peer_that_only_probes_is_gone_in_the_end) {
  lines_ = {Line{}};
  look_for(1s);
  lines_[0].answers = false;
  bool gone = false;
  for (Nanos waited{0}; !gone && waited < 3 * kTimeout; waited += 1s) {
    probed_at_ = now_;
    gone = look_for(1s).peer_is_gone;
    EXPECT_TRUE(!gone || waited >= kTimeout);
  }
  EXPECT_TRUE(gone);
}

}  // namespace
}  // namespace railweave::engine

// SessionHealth with simulated lanes. The test sets the time.
#include "engine/health/session_health.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <string>
#include <string_view>

namespace railweave::engine {
namespace {

using namespace std::chrono_literals;
using Kind = HealthVerdict::Kind;
using Why = HealthVerdict::Why;
using Then = AfterLane::Then;
using Places = std::vector<int>;

constexpr Nanos kPeerTimeout = 10s;
constexpr Nanos kStallTimeout = 20s;

Status reset_by_peer() { return Status(Code::remote, Scope::lane, "rail eth0: reset", 104); }

class SessionHealthTest : public testing::Test {
 protected:
  struct Line {
    bool answers = true;  // the peer's kernel answers by this lane
    bool link_down = false;
    bool open = true;
    std::uint32_t generation = 1;
    std::uint64_t outstanding_bytes = 0, acknowledged_bytes = 0;
    std::optional<TimePoint> unanswered_since = std::nullopt;
  };

  SessionHealth::Observations observe() {
    SessionHealth::Observations seen;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      Line& line = lines_[i];
      if (line.answers)
        line.unanswered_since.reset();
      else if (!line.unanswered_since)
        line.unanswered_since = now_;
      if (!line.open) continue;
      LaneObservation& lane = seen.emplace_back();
      lane.lane = {int(i), line.generation};
      lane.id = std::uint16_t(100 * line.generation + i);
      lane.link_down = line.link_down;
      lane.ack_status.heard_at = line.answers ? now_ : *line.unanswered_since;
      lane.ack_status.owes = true;
      if (line.unanswered_since && now_ - *line.unanswered_since >= 100ms)
        lane.ack_status.late_since = line.unanswered_since;
      if (line.unanswered_since && now_ - *line.unanswered_since >= 300ms)
        lane.ack_status.silent_since = line.unanswered_since;
      lane.health.outstanding_bytes = line.outstanding_bytes;
      lane.health.acknowledged_bytes = line.acknowledged_bytes;
      lane.believed = Rate::from_megabits(1000);
      lane.holds_data = line.outstanding_bytes > 0;
    }
    return seen;
  }
  int live() const { return int(std::ranges::count(lines_, true, &Line::open)); }
  void note(const SessionHealth::Verdicts& verdicts) {
    for (const HealthVerdict& verdict : verdicts) {
      said_.push_back(verdict);
      if (verdict.kind == Kind::give_up) lines_[std::size_t(verdict.lane.place)].open = false;
      if (verdict.kind == Kind::send_heartbeat_probe && peer_answers_) ++consumed_;
      if (verdict.kind == Kind::heartbeat_probe_sent) health_.on_heartbeat_probe_sent(observe());
    }
  }
  // Polls every 50 ms for `time`, as SessionLanes does.
  void look_for(Nanos time) {
    for (const TimePoint end = now_ + time; now_ < end;) {
      now_ += 50ms;
      note(health_.find_silent_lanes(now_, observe(), live()));
      note(health_.find_slow_lanes(now_, observe(), consumed_));
      note(health_.find_stopped_peer(now_, observe(), consumed_, is_waited_for_));
    }
  }
  long count(Kind kind) const { return std::ranges::count(said_, kind, &HealthVerdict::kind); }
  std::optional<HealthVerdict> first(Kind kind) const {
    const auto it = std::ranges::find(said_, kind, &HealthVerdict::kind);
    return it == said_.end() ? std::nullopt : std::optional(*it);
  }
  Places places_of(Kind kind) const {
    Places places;
    for (const HealthVerdict& verdict : said_)
      if (verdict.kind == kind) places.push_back(verdict.lane.place);
    return places;
  }
  // Reports that a lane is gone and `left` lanes are left.
  AfterLane lost(const Status& why = reset_by_peer(), int left = 0, bool malformed = false) {
    LaneGone gone;
    gone.why = why;
    gone.rail = "eth0";
    gone.live_lanes = left;
    gone.malformed = malformed;
    gone.end = wire::LaneEnd::reset;
    return health_.lane_gone(now_, gone);
  }

  SessionHealth health_{"them", {kPeerTimeout, kStallTimeout}};
  std::vector<Line> lines_{2};
  std::vector<HealthVerdict> said_;
  TimePoint now_{1h};
  std::uint64_t consumed_ = 0;
  bool peer_answers_ = true, is_waited_for_ = false;
};

// ----------------------------------------------------------------------------------------------------- silence

TEST_F(SessionHealthTest, a_silent_lane_is_given_up_while_another_answers) {
  lines_[1].generation = 7;
  lines_[1].answers = false;
  look_for(1s);
  ASSERT_EQ(count(Kind::give_up), 1);
  EXPECT_EQ(first(Kind::give_up)->lane, (LaneRef{1, 7}));
  EXPECT_EQ(first(Kind::give_up)->id, 701);
  EXPECT_EQ(first(Kind::give_up)->why, Why::unanswered);
  EXPECT_EQ(count(Kind::peer_silent) + count(Kind::reconnect), 0);
}

TEST_F(SessionHealthTest, a_lane_whose_link_is_down_is_given_up_for_that) {
  lines_[0].link_down = true;
  look_for(50ms);
  ASSERT_EQ(count(Kind::give_up), 1);
  EXPECT_EQ(first(Kind::give_up)->why, Why::link_down);
}

TEST_F(SessionHealthTest, a_silent_peer_is_reported_once_and_lost_after_its_timeout) {
  lines_[0].answers = lines_[1].answers = false;
  look_for(9s);
  EXPECT_TRUE(health_.peer_is_silent());
  EXPECT_EQ(count(Kind::give_up) + count(Kind::peer_lost), 0);
  EXPECT_EQ(count(Kind::peer_silent), 1);
  EXPECT_GT(count(Kind::reconnect), 100) << "at every look: any pair may be the one that works";
  look_for(2s);
  EXPECT_GT(count(Kind::peer_lost), 0);
}

TEST_F(SessionHealthTest, a_peer_that_answers_again_is_reported) {
  lines_[0].answers = lines_[1].answers = false;
  look_for(3s);
  lines_[0].answers = lines_[1].answers = true;
  look_for(100ms);
  EXPECT_EQ(count(Kind::peer_answers), 1);
  EXPECT_FALSE(health_.peer_is_silent());
}

TEST_F(SessionHealthTest, a_lane_that_comes_is_an_answer) {
  EXPECT_FALSE(health_.lane_came(now_, 0));
  lines_[0].answers = lines_[1].answers = false;
  look_for(3s);
  EXPECT_TRUE(health_.lane_came(now_, 2));
  EXPECT_FALSE(health_.peer_is_silent());
}

TEST_F(SessionHealthTest, a_silent_peer_whose_lanes_all_went_does_not_answer) {
  lines_[0].answers = lines_[1].answers = false;
  look_for(3s);
  lines_[0].open = lines_[1].open = false;
  look_for(100ms);
  EXPECT_EQ(count(Kind::peer_answers), 0);
}

// -------------------------------------------------------------------------------------------------- slow lanes

TEST_F(SessionHealthTest, a_lane_that_delays_others_is_given_up_once_the_peer_answers) {
  lines_[1].outstanding_bytes = 64 << 10;
  look_for(3s);
  ASSERT_EQ(count(Kind::give_up), 1);
  EXPECT_EQ(first(Kind::give_up)->lane, (LaneRef{1, 1}));
  EXPECT_EQ(first(Kind::give_up)->why, Why::too_slow);
  EXPECT_EQ(places_of(Kind::send_heartbeat_probe).front(), 0);
}

TEST_F(SessionHealthTest, no_lane_is_too_slow_for_a_peer_that_does_not_answer) {
  peer_answers_ = false;
  lines_[1].outstanding_bytes = 64 << 10;
  look_for(3s);
  EXPECT_EQ(count(Kind::give_up), 0);
}

// Observations of the former lane in a place do not count for the lane there now.
TEST_F(SessionHealthTest, the_drain_rate_of_a_lane_of_an_older_generation_is_forgotten) {
  lines_[1].outstanding_bytes = 64 << 10;
  look_for(500ms);
  ASSERT_GT(count(Kind::send_heartbeat_probe), 0) << "it is suspected";
  said_.clear();
  for (int i = 0; i < 10; ++i) {
    ++lines_[1].generation;
    look_for(250ms);
  }
  EXPECT_TRUE(said_.empty()) << "none of them was watched for long enough";
}

// ------------------------------------------------------------------------------------------------ stopped peers

TEST_F(SessionHealthTest, an_awaited_peer_is_asked_by_every_working_lane) {
  is_waited_for_ = true;
  lines_.push_back({.link_down = true, .open = false});
  look_for(1100ms);
  EXPECT_EQ(places_of(Kind::send_heartbeat_probe), (Places{0, 1}));
  EXPECT_EQ(count(Kind::heartbeat_probe_sent), 1);
}

TEST_F(SessionHealthTest, a_stopped_peer_is_reported_and_then_the_session_ends) {
  is_waited_for_ = true;
  peer_answers_ = false;
  look_for(19s);
  EXPECT_EQ(count(Kind::peer_stopped), 1);
  EXPECT_EQ(count(Kind::peer_stalled), 0);
  look_for(2s);
  EXPECT_GT(count(Kind::peer_stalled), 0);
}

// The probe is still under way: the peer cannot have answered.
TEST_F(SessionHealthTest, a_peer_is_not_stopped_while_the_probe_moves_towards_it) {
  is_waited_for_ = true;
  peer_answers_ = false;
  lines_[1].open = false;
  lines_[0].outstanding_bytes = 1 << 30;
  for (int i = 0; i < 60; ++i) {
    lines_[0].acknowledged_bytes += 1000;
    look_for(500ms);
  }
  EXPECT_EQ(count(Kind::peer_stopped), 0);
  EXPECT_EQ(count(Kind::heartbeat_probe_sent), 1) << "it is asked once";
}

TEST_F(SessionHealthTest, a_probe_sent_by_a_lane_of_an_older_generation_is_lost) {
  is_waited_for_ = true;
  peer_answers_ = false;
  lines_[1].open = false;
  lines_[0].outstanding_bytes = 1 << 30;
  look_for(1500ms);
  ASSERT_EQ(count(Kind::heartbeat_probe_sent), 1);
  lines_[0] = {.generation = 2, .acknowledged_bytes = 1u << 31};
  look_for(1500ms);
  EXPECT_EQ(count(Kind::heartbeat_probe_sent), 2)
      << "it is asked again, though more is acknowledged there than it was behind";
}

// --------------------------------------------------------------------------------------------------- lanes go

TEST_F(SessionHealthTest, a_lost_lane_beside_others_is_a_loss_and_others_are_wanted) {
  const AfterLane after = lost(reset_by_peer(), 1);
  EXPECT_EQ(after.then, Then::go_on);
  EXPECT_TRUE(after.is_loss);
  EXPECT_TRUE(after.reconnect);
  EXPECT_FALSE(after.logs);
}

TEST_F(SessionHealthTest, a_last_lane_that_is_gone_without_a_reason_ends_the_session) {
  const AfterLane after = lost();
  EXPECT_EQ(after.then, Then::end);
  EXPECT_EQ(after.loss.message(), "connection to them lost: rail eth0: reset");
  EXPECT_EQ(after.loss.scope(), Scope::session);
  EXPECT_EQ(after.loss.system_errno(), 104);
  EXPECT_FALSE(after.logs) << "who waits is told";
}

TEST_F(SessionHealthTest, after_a_reset_another_lane_is_awaited_for_the_peer_timeout) {
  health_.lane_broke(now_, {.end = wire::LaneEnd::reset});
  EXPECT_EQ(lost().then, Then::wait);
  EXPECT_TRUE(health_.grace_over(now_ + kPeerTimeout - 1ms, 0).ok());
  EXPECT_EQ(health_.grace_over(now_ + kPeerTimeout, 0).message(),
            "connection to them lost: rail eth0: reset; no lane came for 10 s (RAILWEAVE_PEER_TIMEOUT)");
  EXPECT_TRUE(health_.grace_over(now_ + kPeerTimeout, 1).ok()) << "another one came";
}

TEST_F(SessionHealthTest, an_end_in_good_order_is_no_reset_and_no_loss) {
  health_.lane_broke(now_, {.end = wire::LaneEnd::reset, .retires = true});
  EXPECT_EQ(lost().then, Then::end) << "it gave no hope";
  LaneGone gone;
  gone.why = reset_by_peer();
  gone.live_lanes = 1;
  gone.retires = true;
  const AfterLane after = health_.lane_gone(now_, gone);
  EXPECT_TRUE(after.retired);
  EXPECT_FALSE(after.is_loss);
  EXPECT_TRUE(after.reconnect) << "the pairs are to be looked at";
  gone.end = wire::LaneEnd::unanswered;
  EXPECT_TRUE(health_.lane_gone(now_, gone).is_loss) << "it fell silent before";
}

TEST_F(SessionHealthTest, what_was_given_up_by_either_side_may_come_again) {
  health_.lane_given_up(now_);
  EXPECT_EQ(lost().then, Then::wait);
  SessionHealth other("them", {kPeerTimeout, kStallTimeout});
  other.lane_failed_by_peer(now_, true);
  LaneGone gone;
  gone.why = reset_by_peer();
  EXPECT_EQ(other.lane_gone(now_, gone).then, Then::end) << "it retired";
  other.lane_failed_by_peer(now_, false);
  EXPECT_EQ(other.lane_gone(now_, gone).then, Then::wait);
}

TEST_F(SessionHealthTest, a_second_malformed_frame_within_a_minute_ends_the_session) {
  EXPECT_EQ(lost(reset_by_peer(), 3, true).then, Then::go_on);
  now_ += 61s;
  EXPECT_EQ(lost(reset_by_peer(), 2, true).then, Then::go_on);
  now_ += 59s;
  const AfterLane after = lost(reset_by_peer(), 1, true);
  EXPECT_EQ(after.then, Then::end);
  EXPECT_TRUE(after.logs) << "also when nobody waits";
  EXPECT_NE(after.loss.message().find("rail eth0"), std::string::npos);
}

TEST_F(SessionHealthTest, ends_that_do_not_agree_end_the_session_whatever_is_left) {
  LaneGone gone;
  gone.why = reset_by_peer();
  gone.live_lanes = 3;
  gone.disagreement = Status(Code::remote, Scope::session, "FENCE after 999 frames");
  const AfterLane after = health_.lane_gone(now_, gone);
  EXPECT_EQ(after.then, Then::end);
  EXPECT_TRUE(after.logs);
  EXPECT_EQ(after.loss.message(), "connection to them lost: FENCE after 999 frames");
}

TEST_F(SessionHealthTest, after_a_goodbye_the_end_of_lanes_is_no_loss) {
  LaneGone gone;
  gone.why = reset_by_peer();
  gone.is_leaving = gone.peer_left = true;
  const AfterLane after = health_.lane_gone(now_, gone);
  EXPECT_EQ(after.then, Then::end);
  EXPECT_EQ(after.loss.code(), Code::left);
  EXPECT_FALSE(after.is_loss || after.reconnect || after.logs);
}

TEST_F(SessionHealthTest, while_a_lane_is_dialled_losing_the_others_ends_nothing) {
  health_.join_began();
  EXPECT_EQ(lost().then, Then::wait);
  health_.join_ended();
  EXPECT_FALSE(health_.grace_over(now_, 0).ok());
}

// A path that damages everything does not give grace for ever.
TEST_F(SessionHealthTest, wrong_bytes_give_grace_again_once_something_came_through) {
  using Damage = LaneBreak::Damage;
  const auto waits_after = [&](const LaneBreak& how) {
    now_ += kPeerTimeout;
    health_.lane_broke(now_, how);
    return lost().then == Then::wait;
  };
  EXPECT_TRUE(waits_after({.damage = Damage::payload, .intact_payload_came = true}));
  EXPECT_FALSE(waits_after({.damage = Damage::payload, .exchanged_segments = 99}));
  EXPECT_TRUE(waits_after({.damage = Damage::frame, .exchanged_segments = 5}));
  EXPECT_FALSE(waits_after({.damage = Damage::frame, .exchanged_segments = 5}));
  EXPECT_TRUE(waits_after({.damage = Damage::frame, .exchanged_segments = 6}));
}

// ------------------------------------------------------------------------------------------ answers of the peer's host

using Answer = JoinAnswer::Kind;
const std::vector<RailPair> kNoLane;
const std::vector<RailPair> kBothLanes{{0, 0}, {1, 1}};
const std::vector<RailPair> kOtherLane{{1, 1}};

// A session with lanes by two pairs, which are heard until the test changes this.
class PeerDenial : public SessionHealthTest {
 protected:
  PeerDenial() {
    for (const RailPair& rails : kBothLanes) health_.pair_carries(rails);
    health_.lane_came(now_, 0);
  }
  void fall_silent() {
    lines_[0].answers = lines_[1].answers = false;
    look_for(2s);
    ASSERT_TRUE(health_.peer_is_silent());
  }
  // Loses the lane of pair 1-1 a second earlier, so that only pair 0-0 speaks for the peer.
  void lose_other_first() {
    health_.note_lost_pairs(now_, {{0, 0}});
    look_for(1s);
  }
  Status receive_answer(Answer kind, const std::vector<RailPair>& open, const RailPair& by = {0, 0},
                        bool is_leaving = false) {
    return health_.on_answer(now_, {.kind = kind, .why = "no", .by = by, .open = open, .is_leaving = is_leaving});
  }
  bool is_denied(Answer kind, const std::vector<RailPair>& open, const RailPair& by = {0, 0}, bool is_leaving = false) {
    return !receive_answer(kind, open, by, is_leaving).ok();
  }
};

TEST_F(PeerDenial, an_instance_that_does_not_know_the_session_ends_it) {
  EXPECT_TRUE(is_denied(Answer::unknown_session, kBothLanes));
  EXPECT_TRUE(is_denied(Answer::unknown_session, kNoLane, {5, 6}));
}

TEST_F(PeerDenial, an_answer_to_a_probe_ends_nothing_while_a_lane_answers) {
  const auto of_probe = [&](const std::vector<RailPair>& open) {
    return !health_
                .on_answer(now_,
                           {.kind = Answer::unknown_session, .why = "no", .by = {0, 0}, .open = open, .to_probe = true})
                .ok();
  };
  EXPECT_FALSE(of_probe(kBothLanes));
  EXPECT_TRUE(of_probe(kNoLane));
  fall_silent();
  EXPECT_TRUE(of_probe(kBothLanes));
}

TEST_F(PeerDenial, another_instance_or_a_refusal_ends_only_a_silent_session) {
  lose_other_first();
  for (const Answer kind : {Answer::stranger, Answer::refused_connection}) {
    EXPECT_FALSE(is_denied(kind, {{0, 0}})) << "a lane is heard";
    EXPECT_TRUE(is_denied(kind, kNoLane));
  }
}

TEST_F(PeerDenial, the_loss_says_why_the_session_ended) {
  lose_other_first();
  const Status refused = receive_answer(Answer::refused_connection, kNoLane);
  EXPECT_EQ(refused.message(), "connection to them lost: no");
  EXPECT_EQ(refused.system_errno(), ECONNREFUSED);
  EXPECT_EQ(receive_answer(Answer::unknown_session, kNoLane).message(), "connection to them lost: it says: no");
}

// A firewall may refuse connections on one rail while the lanes of the other rail are reset.
TEST_F(PeerDenial, every_pair_that_was_lost_together_must_be_denied) {
  for (const Answer kind : {Answer::stranger, Answer::refused_connection}) {
    EXPECT_FALSE(is_denied(kind, kNoLane));
    EXPECT_FALSE(is_denied(kind, kNoLane)) << "the same one again";
    EXPECT_TRUE(is_denied(kind, kNoLane, {1, 1}));
    health_.lane_came(now_, 0);
  }
}

TEST_F(PeerDenial, a_pair_without_an_answer_has_two_and_a_half_seconds) {
  EXPECT_TRUE(receive_answer(Answer::refused_connection, kNoLane).ok());
  now_ += 2499ms;
  EXPECT_TRUE(health_.grace_over(now_, 0).ok());
  now_ += 1ms;
  EXPECT_EQ(health_.grace_over(now_, 0).message(), "connection to them lost: no");
}

TEST_F(PeerDenial, a_lane_that_comes_cancels_denials) {
  EXPECT_TRUE(receive_answer(Answer::refused_connection, kNoLane).ok());
  health_.lane_came(now_, 0);
  now_ += 5s;
  EXPECT_TRUE(health_.grace_over(now_, 0).ok());
  EXPECT_FALSE(is_denied(Answer::refused_connection, kNoLane, {1, 1})) << "the first is to be asked anew";
}

TEST_F(PeerDenial, any_sign_of_life_cancels_denials) {
  const auto probe = [this] { health_.probed(now_); };
  const auto agree = [this] { health_.lane_agreed(), health_.join_ended(); };
  const auto serve = [this] { EXPECT_FALSE(is_denied(Answer::duplicate, kNoLane)) << "to our probe or dial"; };
  for (const std::function<void()>& sign :
       {std::function<void()>(probe), std::function<void()>(agree), std::function<void()>(serve)}) {
    EXPECT_FALSE(is_denied(Answer::refused_connection, kNoLane));
    sign();
    now_ += 5s;
    EXPECT_TRUE(health_.grace_over(now_, 0).ok());
    EXPECT_FALSE(is_denied(Answer::refused_connection, kNoLane, {1, 1})) << "the first is to be asked anew";
    health_.lane_came(now_, 0);
  }
}

TEST_F(PeerDenial, a_lane_that_answers_again_cancels_denials) {
  fall_silent();
  EXPECT_FALSE(is_denied(Answer::stranger, kBothLanes));
  lines_[0].answers = lines_[1].answers = true;
  look_for(1s);
  lines_[0].answers = lines_[1].answers = false;
  look_for(2s);
  EXPECT_TRUE(health_.grace_over(now_, 2).ok());
}

TEST_F(PeerDenial, a_refusal_beside_a_silent_lane_of_its_pair_does_not_count) {
  fall_silent();
  for (const RailPair& rails : kBothLanes) EXPECT_FALSE(is_denied(Answer::refused_connection, kBothLanes, rails));
  EXPECT_TRUE(is_denied(Answer::stranger, kBothLanes)) << "an engine said so, and the other pair was refused";
}

TEST_F(PeerDenial, a_refused_pair_without_a_lane_waits_for_the_other_pair) {
  fall_silent();
  EXPECT_FALSE(is_denied(Answer::refused_connection, kOtherLane)) << "the other is not asked yet";
  EXPECT_TRUE(is_denied(Answer::refused_connection, kOtherLane, {1, 1}));
  EXPECT_FALSE(health_.grace_over(now_ + 2500ms, 1).ok());
}

TEST_F(PeerDenial, a_pair_that_does_not_speak_for_the_peer_ends_nothing) {
  lose_other_first();
  for (const Answer kind : {Answer::stranger, Answer::refused_connection}) {
    EXPECT_FALSE(is_denied(kind, kNoLane, {0, 1})) << "it never carried";
    EXPECT_FALSE(is_denied(kind, kNoLane, {1, 1})) << "it was lost before";
    EXPECT_TRUE(is_denied(kind, kNoLane));
  }
}

TEST_F(PeerDenial, a_session_that_ends_in_good_order_is_denied_by_nobody) {
  for (const Answer kind : {Answer::unknown_session, Answer::stranger, Answer::refused_connection})
    EXPECT_FALSE(is_denied(kind, kNoLane, {0, 0}, true));
}

TEST_F(PeerDenial, other_answers_say_nothing_of_the_session) {
  lose_other_first();
  for (const Answer kind : {Answer::welcome, Answer::duplicate, Answer::wrong_welcome, Answer::failed})
    EXPECT_FALSE(is_denied(kind, kNoLane));
}

// --------------------------------------------------------------------------------------- a session that waited in vain

class FailedReconnect : public PeerDenial {
 protected:
  FailedReconnect() {
    health_.lane_given_up(now_);
    EXPECT_EQ(lost().then, Then::wait);
  }
  std::string told() const { return health_.grace_over(now_ + kPeerTimeout, 0).message(); }
  static constexpr std::string_view kLost =
      "connection to them lost: rail eth0: reset; no lane came for 10 s (RAILWEAVE_PEER_TIMEOUT)";
};

TEST_F(FailedReconnect, the_loss_says_how_long_the_session_waited) { EXPECT_EQ(told(), kLost); }

TEST_F(FailedReconnect, the_loss_names_the_last_answer) {
  EXPECT_TRUE(receive_answer(Answer::failed, kNoLane).ok());
  EXPECT_EQ(told(), std::string(kLost) + ", the last try: no");
}

TEST_F(FailedReconnect, the_loss_says_why_the_last_dial_could_not_begin) {
  EXPECT_TRUE(receive_answer(Answer::failed, kNoLane).ok());
  health_.try_failed("eth0: no more descriptors");
  EXPECT_EQ(told(), std::string(kLost) + ", the last try: eth0: no more descriptors");
}

TEST_F(FailedReconnect, the_loss_names_probes_that_were_answered) {
  EXPECT_TRUE(receive_answer(Answer::duplicate, kNoLane).ok());
  EXPECT_EQ(told(), std::string(kLost) + ", the last try: the peer answers, and no lane that it dialled came");
}

TEST_F(FailedReconnect, what_failed_before_a_lane_came_is_not_mentioned) {
  health_.try_failed("eth0: no more descriptors");
  health_.lane_came(now_, 0);
  health_.lane_given_up(now_);
  EXPECT_EQ(lost().then, Then::wait);
  EXPECT_EQ(told(), kLost);
}

}  // namespace
}  // namespace railweave::engine

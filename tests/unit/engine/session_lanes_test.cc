// Lanes of paper without a session around them: what becomes of verdicts.
#include "engine/session_lanes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/unit/engine/paper_lane.h"

namespace railweave::engine {
namespace {

using namespace std::chrono_literals;
using Kind = HealthVerdict::Kind;
using Why = HealthVerdict::Why;

class StandingClock final : public Clock {
 public:
  TimePoint now() const override { return at; }
  TimePoint at{1h};
};

class PaperLanes : public testing::Test, public LanesOwner {
 protected:
  void add_lane(int number, int rail) {
    ASSERT_TRUE(lanes_.add_lane(protocol::LaneId(number), {rail, rail}, std::make_unique<PaperLane>(paper_[number], "eth" + std::to_string(rail)), false));
  }
  static HealthVerdict verdict(Kind kind, const LaneRef& lane, int number, Why why = Why::none) {
    return {.kind = kind, .why = why, .lane = lane, .id = std::uint16_t(number)};
  }
  // A lane had place 1, and another has it now.
  void use_place_again() {
    add_lane(0, 0);
    add_lane(1, 1);
    paper_[1].ending = Status(Code::remote, Scope::lane, "closed by the peer");
    lanes_.drive(1 << 20, true);
    ASSERT_EQ(lanes_.table().rails_of_lanes().size(), 1u);
    add_lane(2, 2);
    ASSERT_EQ(lanes_.table().at(1).id(), 2);
    EXPECT_EQ(lanes_.take_losses().size(), 1u);
  }

  bool is_waited_for(const SharedProtocol::Locked&) override { return false; }
  void wake() noexcept override {}
  void on_lane_wanted() override {}
  bool may_warn_of_silence(bool) override { return false; }
  void tell_loss(const Status&) override {}
  void fail(const Status& why) override { protocol_.lock().fail(why); }
  void lose(const std::string& why, int) override { fail(Status(Code::remote, Scope::session, why)); }

  Paper paper_[4];
  StandingClock clock_;
  SharedProtocol protocol_{{}, clock_};
  SessionLanes lanes_{protocol_, *this, "paper", {{}, {10s, 60s}, true}};
};

TEST_F(PaperLanes, a_verdict_of_an_older_generation_is_dropped) {
  use_place_again();
  EXPECT_TRUE(lanes_.carry_out({verdict(Kind::give_up, {1, 1}, 1, Why::too_slow), verdict(Kind::ask_peer, {1, 1}, 1)}));
  lanes_.drive(1 << 20, true);
  EXPECT_EQ(lanes_.table().rails_of_lanes().size(), 2u);
  EXPECT_TRUE(lanes_.take_losses().empty());
  EXPECT_TRUE(lanes_.take_slow_pairs().empty());
  const auto asks = [](const FrameHeader& h) { return h.type == FrameType::keep && h.a == protocol::kKeepAnswerMe && h.length == 0; };
  EXPECT_TRUE(std::ranges::none_of(paper_[2].sent, asks));
}

TEST_F(PaperLanes, a_verdict_of_this_generation_is_carried_out_once) {
  use_place_again();
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(lanes_.carry_out({verdict(Kind::give_up, {1, 2}, 2, Why::too_slow)}));
    EXPECT_EQ(lanes_.table().rails_of_lanes(), (std::vector<RailPair>{{0, 0}}));
  }
  EXPECT_EQ(lanes_.take_losses().size(), 1u);
  EXPECT_EQ(lanes_.take_slow_pairs(), (std::vector<RailPair>{{2, 2}}));
}

TEST_F(PaperLanes, a_session_that_is_lost_is_over_with_what_comes_after_left_out) {
  use_place_again();
  EXPECT_FALSE(lanes_.carry_out({verdict(Kind::peer_lost, {}, 0), verdict(Kind::peer_stalled, {}, 0)}));
  EXPECT_TRUE(protocol_.is_over());
  EXPECT_EQ(protocol_.lock()->error().message(), "no answer on eth0, eth2 for 10 s (RAILWEAVE_PEER_TIMEOUT)");
}

// By the clock of the session, whatever the machine's says.
TEST_F(PaperLanes, silence_is_timed_by_the_sessions_own_clock) {
  add_lane(0, 0);
  paper_[0].silent_since = clock_.at;
  lanes_.look(true);
  EXPECT_FALSE(lanes_.peer_is_silent());
  clock_.at += 2s;
  lanes_.look(false);
  EXPECT_TRUE(lanes_.peer_is_silent());
  clock_.at += 10s;
  lanes_.look(false);
  EXPECT_TRUE(protocol_.is_over());
}

}  // namespace
}  // namespace railweave::engine

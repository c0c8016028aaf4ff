// SessionLanesTest: SessionLanes with fake lanes and without a session. Time stands still until the test advances it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "engine/session/session_lanes.h"
#include "tests/unit/engine/paper_lane.h"

namespace railweave::engine {

// A clock that stands still: the test sets `at`.
class StandingClock final : public Clock {
 public:
  TimePoint now() const override { return at; }
  TimePoint at{std::chrono::hours(1)};
};

class SessionLanesTest : public testing::Test, public LanesOwner {
 protected:
  void add_lane(int number, int rail, std::string_view wire = "paper") {
    ASSERT_TRUE(lanes_.add_lane(protocol::LaneId(number), {rail, rail},
                                std::make_unique<PaperLane>(paper_[number], "eth" + std::to_string(rail), wire),
                                false));
  }
  // Adds two lanes over two pairs of rails. Neither is heard for so long that the peer counts as silent.
  void add_two_silent_lanes() {
    for (int i : {0, 1}) {
      add_lane(i, i);
      paper_[i].silent_since = clock_.at;
    }
    clock_.at += std::chrono::seconds(2);
    lanes_.poll(true);
    ASSERT_TRUE(lanes_.peer_is_silent());
  }
  static HealthVerdict verdict(HealthVerdict::Kind kind, const LaneRef& lane, int number,
                               HealthVerdict::Why why = HealthVerdict::Why::none) {
    return {.kind = kind, .why = why, .lane = lane, .id = std::uint16_t(number)};
  }
  void drive() {
    for (int i = 0; i < 3; ++i) lanes_.drive(1 << 20, true);
  }
  long fences(int paper) const { return std::ranges::count(paper_[paper].sent, FrameType::fence, &FrameHeader::type); }
  // Loses the lane in place 1, and adds another lane in this place.
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
  void on_lane_wanted() override { ++lanes_wanted_; }
  void on_lane_came() override { ++lanes_came_; }
  bool may_warn_of_silence(bool) override { return false; }
  void log_loss(const Status&) override {}
  void fail(const Status& why) override { protocol_.lock().fail(why); }
  void lose(const std::string& why, int) override { fail(Status(Code::remote, Scope::session, why)); }

  Paper paper_[4];
  int lanes_wanted_ = 0, lanes_came_ = 0;
  StandingClock clock_;
  SharedProtocol protocol_{{}, clock_};
  SessionLanes lanes_{protocol_, *this, "paper", {{}, {std::chrono::seconds(10), std::chrono::seconds(60)}, true}};
};

}  // namespace railweave::engine

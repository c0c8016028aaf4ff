// A sender's warnings about a receiver whose credit allows nothing (docs/internals/credit_windows.md).
#include <gtest/gtest.h>

#include "tests/unit/engine/paper_lanes.h"
#include "tests/unit/engine/session_fixture.h"

namespace railweave::engine {
namespace {

using namespace std::chrono_literals;

struct StandingTime {
  StandingClock time_;
};

class CreditOverride : protected StandingTime, public SessionTest {
 protected:
  CreditOverride() : SessionTest(Config().stall_timeout, time_) {}

  void SetUp() override {
    add_lanes(2);
    const auto pending = pending_stream();
    session_->open(pending);
    paper_[0].says(protocol::OpenedFrame{.stream = 0, .rail_mask = ~std::uint64_t{0}, .eager_slot_bytes = 65536});
    drive(3);
    send_ = std::move(*pending->take());
    ASSERT_TRUE(send_);
  }
  void let_nothing_go(protocol::LaneId lane) {
    paper_[lane].says(
        protocol::WindowFrame{.lane = lane, .edition = 1, .credit = {.window_bytes = 0, .limit = 70'000}});
    drive(3);
  }
  void wait(Nanos time) {
    for (Nanos waited{0}; waited < time; waited += 100ms) {
      time_.at += 100ms;
      drive(3);
    }
  }
  std::size_t segments() const {
    std::size_t sum = 0;
    for (const Paper& paper : paper_)
      sum += std::size_t(std::ranges::count(paper.sent, FrameType::segment, &FrameHeader::type));
    return sum;
  }

  std::unique_ptr<SendEnd> send_;
};

TEST_F(CreditOverride, a_receiver_that_lets_nothing_go_is_logged_once_a_lane) {
  for (const protocol::LaneId lane : {0, 1}) let_nothing_go(lane);
  ASSERT_TRUE(send_->post(place_.data(), 60'000).ok());
  wait(900ms);
  EXPECT_EQ(segments(), 0u);
  EXPECT_TRUE(warnings.empty());
  wait(4s);
  EXPECT_GT(segments(), 4u) << "each lane goes on";
  ASSERT_EQ(warnings.size(), 2u);
  std::ranges::sort(warnings);
  for (const std::size_t lane : {0u, 1u}) {
    const std::string number = std::to_string(lane);
    EXPECT_TRUE(warnings[lane].starts_with("lane " + number + " to paper on rail eth" + number +
                                           ", to far: the receiver's credit window has allowed nothing for 1."))
        << warnings[lane];
    EXPECT_NE(warnings[lane].find(" s (window: 0 bytes, limit: 70000 bytes ever)"), std::string::npos)
        << warnings[lane];
  }
}

TEST_F(CreditOverride, a_receiver_that_lets_some_go_is_not_logged) {
  for (const protocol::LaneId lane : {0, 1})
    paper_[lane].says(protocol::WindowFrame{.lane = lane, .edition = 1, .credit = {.window_bytes = 8192}});
  drive(3);
  ASSERT_TRUE(send_->post(place_.data(), 60'000).ok());
  wait(4s);
  EXPECT_GT(segments(), 4u);
  EXPECT_TRUE(warnings.empty());
}

}  // namespace
}  // namespace railweave::engine

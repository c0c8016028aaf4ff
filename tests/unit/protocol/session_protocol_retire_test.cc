// SessionProtocol: lanes that retire. End a is the dialler.
#include <gtest/gtest.h>

#include "protocol/session_protocol.h"
#include "tests/unit/protocol/pair.h"

namespace railweave::protocol {
namespace {

class LaneRetirement : public ::testing::Test {
 protected:
  void SetUp() override { pair_.add_lanes(2); }
  // Sends by `lane` only.
  std::size_t send_by(End from, LaneId lane) {
    for (const LaneId other : {0, 1}) pair_.session(from).set_blocked(other, other != lane);
    const std::size_t n = pair_.send(from, lane);
    for (const LaneId other : {0, 1}) pair_.session(from).set_blocked(other, false);
    return n;
  }
  std::size_t count(End end, FrameType type) {
    return std::size_t(std::ranges::count(pair_.written(end), type, &FrameHeader::type));
  }
  bool told(End end, Event::Kind kind) { return std::ranges::count(pair_.events(end), kind, &Event::kind) > 0; }
  // Acts as the engine does at both ends, until nothing moves.
  void run() {
    for (int i = 0; i < 3; ++i) {
      pair_.run();
      if (told(End::b, Event::Kind::lane_retired) && pair_.b().is_retiring(0)) pair_.lose(End::b, 0);
      if (told(End::a, Event::Kind::lane_failed_by_peer)) pair_.lose(End::a, 0);
    }
  }

  Pair pair_;
  Requests requests_;
  std::vector<std::byte> data_ = pattern(60'000), place_ = std::vector<std::byte>(60'000);
};

TEST_F(LaneRetirement, retire__both_ends_give_the_lane_nothing_but_keeps) {
  const Pair::Ends ends = pair_.open();
  ASSERT_TRUE(pair_.a().retire(0, true));
  EXPECT_FALSE(pair_.a().retire(0, true)) << "said already";
  EXPECT_TRUE(pair_.a().is_retiring(0));
  pair_.run();
  EXPECT_TRUE(pair_.b().is_retiring(0));
  pair_.written(End::a).clear(), pair_.written(End::b).clear();
  pair_.b().post(ends.in, requests_[0], place_.data(), place_.size());
  pair_.a().post(ends.out, requests_[1], data_.data(), data_.size());
  EXPECT_EQ(pair_.send(End::b, 0), 0u);
  pair_.send(End::b, 1);
  pair_.receive(End::a, 1);
  EXPECT_EQ(pair_.send(End::a, 0), 0u);
  pair_.run();
  EXPECT_TRUE(place_ == data_);
}

TEST_F(LaneRetirement, retire__nothing_goes_again_with_frames_under_way_both_ways) {
  const Pair::Ends ends = pair_.open();
  pair_.b().post(ends.in, requests_[0], place_.data(), place_.size());
  pair_.run();
  pair_.a().post(ends.out, requests_[1], data_.data(), data_.size());
  ASSERT_EQ(send_by(End::a, 0), 1u);
  std::vector<std::byte> other(1000);
  pair_.b().post(ends.in, requests_[2], other.data(), other.size());
  ASSERT_EQ(send_by(End::b, 0), 1u) << "a grant";
  pair_.a().retire(0, true);
  pair_.send(End::a, 1);
  pair_.receive(End::b, 1);
  EXPECT_FALSE(told(End::b, Event::Kind::lane_retired)) << "the segment is not here";
  pair_.receive(End::b, 0);
  EXPECT_FALSE(told(End::b, Event::Kind::lane_retired)) << "the grant may not be there";
  run();
  EXPECT_TRUE(told(End::b, Event::Kind::lane_retired));
  EXPECT_TRUE(told(End::a, Event::Kind::lane_failed_by_peer));
  EXPECT_EQ(pair_.a().live_lanes(), 1);
  EXPECT_EQ(pair_.b().live_lanes(), 1);
  EXPECT_EQ(count(End::a, FrameType::segment), 1u);
  EXPECT_EQ(count(End::b, FrameType::grant), 2u);
  EXPECT_TRUE(place_ == data_);
  EXPECT_EQ(pair_.done(End::a).size(), 1u);
  pair_.open();
  pair_.run();
  pair_.a().forget_lanes();
  EXPECT_FALSE(pair_.a().knows_lane(0));
}

TEST_F(LaneRetirement, retire__a_segment_that_is_overtaken_is_waited_for) {
  const Pair::Ends ends = pair_.open();
  pair_.b().post(ends.in, requests_[0], place_.data(), place_.size());
  pair_.run();
  pair_.a().send_any_frame(0);  // reports that a has consumed all frames of b
  pair_.run();
  pair_.a().post(ends.out, requests_[1], data_.data(), data_.size());
  ASSERT_EQ(send_by(End::a, 0), 1u);
  pair_.a().retire(0, true);
  ASSERT_EQ(pair_.send(End::a, 1), 1u);
  pair_.receive(End::b, 1);
  EXPECT_FALSE(told(End::b, Event::Kind::lane_retired));
  run();
  EXPECT_TRUE(told(End::b, Event::Kind::lane_retired));
  EXPECT_EQ(count(End::a, FrameType::segment), 1u);
}

TEST_F(LaneRetirement, retire__an_idle_lane_ends_too_and_both_ends_come_to_rest) {
  pair_.run();
  pair_.a().retire(0, true);
  run();
  EXPECT_EQ(pair_.a().live_lanes(), 1);
  EXPECT_EQ(pair_.b().live_lanes(), 1);
}

TEST_F(LaneRetirement, retire__retransmitted_if_it_was_lost_with_its_lane) {
  pair_.add_lane(2, 1, 1);
  pair_.run();
  pair_.a().retire(0, true);
  const std::size_t by_1 = pair_.send(End::a, 1), by_2 = pair_.send(End::a, 2);
  ASSERT_EQ(by_1 + by_2, 1u);
  pair_.lose_both(by_1 > 0 ? 1 : 2);
  pair_.run();
  EXPECT_EQ(count(End::a, FrameType::retire), 2u);
  EXPECT_TRUE(pair_.b().is_retiring(0));
}

TEST_F(LaneRetirement, retire__it_serves_while_no_other_lane_is_there) {
  const Pair::Ends ends = pair_.open();
  pair_.b().post(ends.in, requests_[0], place_.data(), place_.size());
  pair_.run();
  pair_.a().retire(0, true);
  pair_.send(End::a, 1);
  pair_.receive(End::b, 1);
  pair_.lose_both(1);
  EXPECT_FALSE(pair_.a().is_retiring(0));
  EXPECT_FALSE(pair_.b().is_retiring(0));
  pair_.a().post(ends.out, requests_[1], data_.data(), data_.size());
  pair_.run();
  EXPECT_TRUE(place_ == data_);
  EXPECT_FALSE(told(End::b, Event::Kind::lane_retired));
}

TEST_F(LaneRetirement, retire__taken_back_before_it_ended) {
  pair_.run();
  pair_.a().retire(0, true);
  pair_.send(End::a, 1);
  pair_.receive(End::b, 1);
  ASSERT_TRUE(pair_.a().retire(0, false));
  ASSERT_EQ(send_by(End::a, 1), 1u);
  pair_.receive(End::b, 1);
  EXPECT_FALSE(pair_.b().is_retiring(0));
  run();
  EXPECT_EQ(pair_.b().live_lanes(), 2);
}

// RETIRE frames may overtake each other on different lanes.
TEST_F(LaneRetirement, on_retire__of_two_the_higher_edition_stands) {
  pair_.add_lane(2, 1, 1);
  pair_.run();
  const auto say = [&](LaneId by) {
    for (const LaneId other : {0, 1, 2}) pair_.a().set_blocked(other, other != by);
    EXPECT_EQ(pair_.send(End::a, by), 1u);
    for (const LaneId other : {0, 1, 2}) pair_.a().set_blocked(other, false);
  };
  pair_.a().retire(0, true);
  say(1);
  pair_.a().retire(0, false);
  say(2);
  pair_.receive(End::b, 2);
  pair_.receive(End::b, 1);
  EXPECT_FALSE(pair_.b().is_retiring(0));
}

TEST_F(LaneRetirement, on_retire__for_a_lane_that_is_not_here_says_nothing) {
  pair_.a().add_lane(5, 0, 0);
  pair_.a().retire(5, true);
  pair_.run();
  EXPECT_EQ(count(End::a, FrameType::retire), 1u);
  EXPECT_EQ(pair_.b().known_lanes(), 2u);
  EXPECT_TRUE(pair_.b().error().ok());
}

}  // namespace
}  // namespace railweave::protocol

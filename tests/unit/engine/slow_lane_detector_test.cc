#include "engine/health/slow_lane_detector.h"

#include <gtest/gtest.h>

namespace railweave::engine {
namespace {

using namespace std::chrono_literals;

class SlowLaneDetectorTest : public testing::Test {
 protected:
  // Polls every 50 ms for `time`. Returns the lanes that were given up.
  std::vector<int> look_for(Nanos time, bool peer_answers = true) {
    std::vector<int> given_up;
    for (const TimePoint end = now_ + time; now_ < end;) {
      now_ += 50ms;
      const SlowLaneDetector::Verdict verdict = detector_.observe(now_, lanes_, consumed_);
      given_up.insert(given_up.end(), verdict.given_up.begin(), verdict.given_up.end());
      for (const int i : verdict.given_up) lanes_[std::size_t(i)].reset();
      probe_lane_ = verdict.probe_lane ? verdict.probe_lane : probe_lane_;
      if (verdict.probe_lane && peer_answers) ++consumed_;
    }
    return given_up;
  }

  static LaneDrain lane(std::uint64_t outstanding_bytes, std::optional<Nanos> left, bool works = true) {
    return {outstanding_bytes, 0, left, Rate::from_megabits(1000), works, Nanos{0}};
  }

  SlowLaneDetector detector_;
  std::vector<std::optional<LaneDrain>> lanes_;
  std::uint64_t consumed_ = 0;
  std::optional<int> probe_lane_;
  TimePoint now_{1h};
};

TEST_F(SlowLaneDetectorTest, a_lane_that_delays_others_is_found_after_the_peer_was_asked) {
  lanes_ = {lane(64 << 10, 5s), lane(0, {})};
  EXPECT_EQ(look_for(SlowLaneDetector::kSure), std::vector<int>{});
  EXPECT_EQ(probe_lane_, 1);
  EXPECT_EQ(look_for(200ms), std::vector<int>{0});
}

TEST_F(SlowLaneDetectorTest, a_lane_on_which_nothing_moves_is_found) {
  lanes_ = {lane(0, {}), lane(64 << 10, Nanos::max())};
  EXPECT_EQ(look_for(2s), std::vector<int>{1});
}

// One lost packet stops a lane for a retransmission timeout, and a silent lane has a time limit of its own.
TEST_F(SlowLaneDetectorTest, an_unanswered_lane_is_found_only_after_its_time) {
  lanes_ = {lane(0, {}), lane(64 << 10, Nanos::max())};
  lanes_[1]->late_for = SlowLaneDetector::kLateMost - 1ms;
  EXPECT_EQ(look_for(3s), std::vector<int>{});
  lanes_[1]->late_for = SlowLaneDetector::kLateMost;
  EXPECT_EQ(look_for(50ms), std::vector<int>{1}) << "the peer has answered for long enough";
}

TEST_F(SlowLaneDetectorTest, no_lane_of_a_peer_that_does_not_answer_is_found) {
  lanes_ = {lane(64 << 10, Nanos::max()), lane(0, {})};
  EXPECT_EQ(look_for(30s, false), std::vector<int>{});
  EXPECT_EQ(look_for(SlowLaneDetector::kSure), std::vector<int>{}) << "and when it goes on, the time begins anew";
}

TEST_F(SlowLaneDetectorTest, a_lane_that_others_would_not_relieve_stays) {
  lanes_ = {lane(64 << 20, 1s), lane(64 << 20, 1s)};  // the other lane would take half a second, and is as full
  EXPECT_EQ(look_for(5s), std::vector<int>{});
}

TEST_F(SlowLaneDetectorTest, a_lane_that_is_soon_drained_stays) {
  lanes_ = {lane(64 << 10, SlowLaneDetector::kLeast - 1ms), lane(0, {})};
  EXPECT_EQ(look_for(5s), std::vector<int>{});
}

TEST_F(SlowLaneDetectorTest, the_last_lane_stays) {
  lanes_ = {lane(64 << 10, Nanos::max())};
  EXPECT_EQ(look_for(5s), std::vector<int>{});
  lanes_ = {lane(64 << 10, Nanos::max()), std::nullopt, lane(64 << 10, 5s, false)};
  EXPECT_EQ(look_for(5s), std::vector<int>{}) << "another that does not work is none";
}

TEST_F(SlowLaneDetectorTest, of_two_slow_lanes_the_better_stays) {
  lanes_ = {lane(64 << 10, 20s), lane(64 << 10, 10s)};
  EXPECT_EQ(look_for(5s), std::vector<int>{0});
}

}  // namespace
}  // namespace railweave::engine

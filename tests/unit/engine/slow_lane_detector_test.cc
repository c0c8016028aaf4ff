#include "engine/health/slow_lane_detector.h"

#include <gtest/gtest.h>

namespace railweave::engine {
namespace {

using namespace std::chrono_literals;

TEST(DrainRate, left__of_an_idle_lane_is_nothing) {
  DrainRate pace;
  for (TimePoint t{1h}; t < TimePoint{1h} + 2s; t += 50ms)
    pace.observe(t, {.outstanding_bytes = 0, .acknowledged_bytes = 7, .min_rtt = {}});
  EXPECT_FALSE(pace.left());
}

TEST(DrainRate, left__is_what_is_outstanding_at_the_recent_rate) {
  DrainRate pace;
  TimePoint t{1h};
  std::uint64_t acknowledged = 0;
  for (int i = 0; i < 20; ++i, t += 50ms, acknowledged += 500)
    pace.observe(t, {.outstanding_bytes = 20'000, .acknowledged_bytes = acknowledged, .min_rtt = {}});
  ASSERT_TRUE(pace.left());
  EXPECT_NEAR(double(pace.left()->count()), 2e9, 1e6);
}

TEST(DrainRate, left__of_what_does_not_move_has_no_end) {
  DrainRate pace;
  for (TimePoint t{1h}; t < TimePoint{1h} + 1s; t += 50ms)
    pace.observe(t, {.outstanding_bytes = 1, .acknowledged_bytes = 7, .min_rtt = {}});
  EXPECT_EQ(pace.left(), Nanos::max());
}

TEST(DrainRate, left__is_unknown_until_it_was_watched_for_a_while) {
  DrainRate pace;
  pace.observe(TimePoint{1h}, {.outstanding_bytes = 1, .acknowledged_bytes = 7, .min_rtt = {}});
  pace.observe(TimePoint{1h} + 100ms, {.outstanding_bytes = 1, .acknowledged_bytes = 7, .min_rtt = {}});
  EXPECT_FALSE(pace.left());
}

class SlowLaneDetectorTest : public testing::Test {
 protected:
  // Looks every 50 ms for so long; the peer answers what it is asked, if it does. Who was recalled.
  std::vector<int> look_for(Nanos time, bool peer_answers = true) {
    std::vector<int> recalled;
    for (const TimePoint end = now_ + time; now_ < end;) {
      now_ += 50ms;
      const SlowLaneDetector::Verdict verdict = recall_.observe(now_, lanes_, consumed_);
      recalled.insert(recalled.end(), verdict.recalled.begin(), verdict.recalled.end());
      for (const int i : verdict.recalled) lanes_[std::size_t(i)].reset();
      asked_ = verdict.asked ? verdict.asked : asked_;
      if (verdict.asked && peer_answers) ++consumed_;
    }
    return recalled;
  }

  static LaneDrain lane(std::uint64_t outstanding_bytes, std::optional<Nanos> left, bool works = true) {
    return {outstanding_bytes, 0, left, Rate::from_megabits(1000), works, Nanos{0}};
  }

  SlowLaneDetector recall_;
  std::vector<std::optional<LaneDrain>> lanes_;
  std::uint64_t consumed_ = 0;
  std::optional<int> asked_;
  TimePoint now_{1h};
};

TEST_F(SlowLaneDetectorTest, a_lane_that_delays_others_is_found_after_the_peer_was_asked) {
  lanes_ = {lane(64 << 10, 5s), lane(0, {})};
  EXPECT_EQ(look_for(SlowLaneDetector::kSure), std::vector<int>{});
  EXPECT_EQ(asked_, 1);
  EXPECT_EQ(look_for(200ms), std::vector<int>{0});
}

TEST_F(SlowLaneDetectorTest, a_lane_on_which_nothing_moves_is_found) {
  lanes_ = {lane(0, {}), lane(64 << 10, Nanos::max())};
  EXPECT_EQ(look_for(2s), std::vector<int>{1});
}

// One lost packet stops a lane for a retransmission timeout, and silence has its own time.
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
  lanes_ = {lane(64 << 20, 1s), lane(64 << 20, 1s)};  // half a second by the other one, which is as full
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

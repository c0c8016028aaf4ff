#include "engine/credit/lane_weight.h"

#include <gtest/gtest.h>

namespace railweave::engine {
namespace {

using namespace std::chrono_literals;

class LaneWeightTest : public testing::Test {
 protected:
  LaneWeightTest() { weight_.observe(now_, lane_, rail_); }
  bool is_heavy_after(Nanos time, std::uint64_t lane_bytes, std::uint64_t rail_bytes) {
    weight_.observe(now_ += time, lane_ += lane_bytes, rail_ += rail_bytes);
    return weight_.is_heavy();
  }

  TimePoint now_{1h};
  std::uint64_t lane_ = 1 << 30, rail_ = 1ULL << 40;
  LaneWeight weight_;
};

TEST_F(LaneWeightTest, observe__what_came_before_does_not_count) { EXPECT_FALSE(weight_.is_heavy()); }

TEST_F(LaneWeightTest, observe__an_eighth_of_what_arrives_is_heavy) {
  EXPECT_TRUE(is_heavy_after(10ms, 1'000'000, 8'000'000));
  EXPECT_FALSE(is_heavy_after(10ms, 1'000'000, 8'000'009));
}

TEST_F(LaneWeightTest, observe__less_than_64_KiB_in_10_ms_is_never_heavy) {
  EXPECT_FALSE(is_heavy_after(10ms, 64 * KiB - 1, 64 * KiB - 1));
  EXPECT_TRUE(is_heavy_after(10ms, 64 * KiB, 64 * KiB));
}

TEST_F(LaneWeightTest, observe__the_rate_counts_for_a_sample_that_ends_late) {
  EXPECT_FALSE(is_heavy_after(100ms, 640 * KiB - 1, 640 * KiB));
  EXPECT_TRUE(is_heavy_after(100ms, 640 * KiB, 640 * KiB));
}

TEST_F(LaneWeightTest, observe__the_verdict_changes_at_the_end_of_a_sample) {
  EXPECT_FALSE(is_heavy_after(9999us, 1'000'000, 1'000'000));
  EXPECT_TRUE(is_heavy_after(1us, 0, 0));
  EXPECT_TRUE(is_heavy_after(9999us, 0, 0));
  EXPECT_FALSE(is_heavy_after(1us, 0, 0));
}

TEST_F(LaneWeightTest, observe__counts_that_went_back_begin_anew) {
  weight_.observe(now_ += 10ms, 100, 100);
  EXPECT_FALSE(weight_.is_heavy());
  weight_.observe(now_ += 10ms, 100 + 64 * KiB, 100 + 64 * KiB);
  EXPECT_TRUE(weight_.is_heavy());
}

}  // namespace
}  // namespace railweave::engine

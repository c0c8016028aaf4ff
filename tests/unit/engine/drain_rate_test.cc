#include "engine/health/drain_rate.h"

#include <gtest/gtest.h>

namespace railweave::engine {
namespace {

using namespace std::chrono_literals;

TEST(DrainRate, left__of_an_idle_lane_is_nothing) {
  DrainRate rate;
  for (TimePoint t{1h}; t < TimePoint{1h} + 2s; t += 50ms)
    rate.observe(t, {.outstanding_bytes = 0, .acknowledged_bytes = 7, .min_rtt = {}});
  EXPECT_FALSE(rate.left());
}

TEST(DrainRate, left__is_what_is_outstanding_at_the_recent_rate) {
  DrainRate rate;
  TimePoint t{1h};
  std::uint64_t acknowledged = 0;
  for (int i = 0; i < 20; ++i, t += 50ms, acknowledged += 500)
    rate.observe(t, {.outstanding_bytes = 20'000, .acknowledged_bytes = acknowledged, .min_rtt = {}});
  ASSERT_TRUE(rate.left());
  EXPECT_NEAR(double(rate.left()->count()), 2e9, 1e6);
}

TEST(DrainRate, left__of_what_does_not_move_has_no_end) {
  DrainRate rate;
  for (TimePoint t{1h}; t < TimePoint{1h} + 1s; t += 50ms)
    rate.observe(t, {.outstanding_bytes = 1, .acknowledged_bytes = 7, .min_rtt = {}});
  EXPECT_EQ(rate.left(), Nanos::max());
}

TEST(DrainRate, left__is_unknown_until_it_was_watched_for_a_while) {
  DrainRate rate;
  rate.observe(TimePoint{1h}, {.outstanding_bytes = 1, .acknowledged_bytes = 7, .min_rtt = {}});
  rate.observe(TimePoint{1h} + 100ms, {.outstanding_bytes = 1, .acknowledged_bytes = 7, .min_rtt = {}});
  EXPECT_FALSE(rate.left());
}

}  // namespace
}  // namespace railweave::engine

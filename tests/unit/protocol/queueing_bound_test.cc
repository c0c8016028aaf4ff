#include "protocol/queueing_bound.h"

#include <gtest/gtest.h>

namespace railweave::protocol {
namespace {

using namespace std::chrono_literals;

constexpr Nanos kNear = 50us;
constexpr std::uint64_t kHeld = 64 * KiB;

// A lane that is observed every half millisecond.
struct Looked {
  TimePoint now{1s};
  std::uint64_t acknowledged = 1'000'000;
  bool full = true;
  Nanos min_rtt = kNear;
  QueueingBound queueing_bound{};

  std::optional<QueueingBound::Limit> poll(std::uint64_t outstanding) {
    now += 500us;
    return queueing_bound.observe(now, acknowledged, outstanding, full, min_rtt);
  }
  // Keeps `bytes` outstanding for `for_so_long`, then acknowledges all at once. Then `bytes` more are outstanding.
  std::optional<QueueingBound::Limit> hold(std::uint64_t bytes, Nanos for_so_long) {
    for (const TimePoint end = now + for_so_long; now + 500us < end;) EXPECT_FALSE(poll(bytes));
    acknowledged += bytes;
    return poll(bytes);
  }
};

TEST(QueueingBound, observe__what_goes_through_in_one_bunch_bounds_the_rate) {
  Looked lane;
  EXPECT_FALSE(lane.poll(kHeld));
  for (int i = 0; i < 10; ++i) {
    const auto bound = lane.hold(kHeld, 8500us);
    ASSERT_TRUE(bound);
    EXPECT_EQ(bound->over, 8ms) << "what nobody saw does not count";
    EXPECT_NEAR(bound->most.bytes_per_s, double(kHeld) / 0.00595, 1e3)
        << "less the round trip, and 2 ms that acknowledgements may be late";
  }
}

// The acknowledgement of one segment may wait for the receiver's timer, so only a long time bounds the rate.
TEST(QueueingBound, observe__one_segment_that_takes_long_bounds_the_rate) {
  Looked lane;
  lane.full = false;
  EXPECT_FALSE(lane.poll(16 * KiB));
  for (int i = 0; i < 10; ++i) {
    const auto bound = lane.hold(16 * KiB, 131ms);
    ASSERT_TRUE(bound);
    EXPECT_GE(bound->most, Rate::from_megabits(1));
    EXPECT_LE(bound->most, Rate::from_megabits(2));
  }
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(lane.hold(16 * KiB, 60ms));
  lane.min_rtt = 100ms;
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(lane.hold(16 * KiB, 160ms));
  EXPECT_FALSE(lane.hold(16 * KiB, 0ms));
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(lane.hold(1000, 500ms)) << "too little to teach";
}

TEST(QueueingBound, observe__never_less_than_the_lane_carries) {
  for (const double megabits : {1.0, 10.0, 50.0, 100.0, 1000.0}) {
    const Rate rate = Rate::from_megabits(megabits);
    for (const Nanos step : {100us, 700us, 3000us, 20'000us}) {
      QueueingBound queueing_bound;
      std::uint64_t acknowledged = 0;
      int bounds = 0;
      double carried = 0;
      for (TimePoint now{1s}; now < TimePoint{5s}; now += step) {
        if (const auto bound = queueing_bound.observe(now, acknowledged, kHeld, true, kNear)) {
          ++bounds;
          EXPECT_GE(bound->most, rate) << megabits << " Mb/s, looked at each " << step.count() << " ns";
        }
        carried += rate.bytes_in(step);
        acknowledged = std::uint64_t(carried) / kHeld * kHeld;
      }
      EXPECT_TRUE(bounds > 0 || megabits > 10.0) << step.count();
      EXPECT_TRUE(bounds == 0 || megabits < 1000.0) << "each bunch takes half a millisecond";
    }
  }
}

TEST(QueueingBound, observe__an_answer_behind_the_peers_data_bounds_nothing) {
  Looked lane;
  EXPECT_FALSE(lane.poll(kHeld));
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(lane.hold(kHeld, 2500us));
}

TEST(QueueingBound, observe__a_long_round_trip_bounds_nothing) {
  Looked lane{.min_rtt = 40ms};
  EXPECT_FALSE(lane.poll(kHeld));
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(lane.hold(kHeld, 42ms));
}

TEST(QueueingBound, observe__an_unknown_round_trip_bounds_nothing) {
  Looked lane{.min_rtt = 0ns};
  EXPECT_FALSE(lane.poll(kHeld));
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(lane.hold(kHeld, 40ms));
}

// The peer may be stopped for a while, which says nothing about the lane.
TEST(QueueingBound, observe__a_lane_that_could_hold_more_bounds_nothing) {
  Looked lane{.full = false};
  EXPECT_FALSE(lane.poll(kHeld));
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(lane.hold(kHeld, 40ms));
}

TEST(QueueingBound, observe__the_two_segments_that_any_lane_has_bound_nothing) {
  Looked lane;
  EXPECT_FALSE(lane.poll(2 * 16'448));
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(lane.hold(2 * 16'448, 40ms));
}

TEST(QueueingBound, observe__an_acknowledgement_held_by_a_timer_bounds_nothing) {
  Looked lane;
  lane.poll(kHeld);
  lane.acknowledged += kHeld - 9'000;
  EXPECT_FALSE(lane.poll(9'000));
  for (Nanos t{0}; t < 40ms; t += 500us) EXPECT_FALSE(lane.poll(9'000));
  lane.acknowledged += 9'000;
  EXPECT_FALSE(lane.poll(0));
}

}  // namespace
}  // namespace railweave::protocol

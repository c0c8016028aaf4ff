#include "protocol/drain_time.h"

#include <gtest/gtest.h>

namespace railweave::protocol {
namespace {

using namespace std::chrono_literals;

constexpr Nanos kNear = 50us;

// A lane that is looked at each half millisecond.
struct Looked {
  TimePoint now{1s};
  std::uint64_t acknowledged = 1'000'000;
  DrainTime drain;

  std::optional<DrainTime::Bound> look(std::uint64_t outstanding, Nanos min_rtt = kNear) {
    now += 500us;
    return drain.observe(now, acknowledged, outstanding, min_rtt);
  }
  // What it holds stays outstanding for so long, and is through at once; what it is given next is outstanding at that look.
  std::optional<DrainTime::Bound> hold(std::uint64_t bytes, Nanos for_so_long, Nanos min_rtt = kNear) {
    for (const TimePoint end = now + for_so_long; now + 500us < end;) EXPECT_FALSE(look(bytes, min_rtt));
    acknowledged += bytes;
    return look(bytes, min_rtt);
  }
};

TEST(DrainTime, observe__what_goes_through_in_one_bunch_bounds_the_rate) {
  Looked lane;
  EXPECT_FALSE(lane.look(48 * KiB));
  for (int i = 0; i < 10; ++i) {
    const auto bound = lane.hold(48 * KiB, 8500us);
    ASSERT_TRUE(bound);
    EXPECT_EQ(bound->over, 8ms) << "what nobody saw does not count";
    EXPECT_NEAR(bound->most.bytes_per_s, 48.0 * KiB / 0.00595, 1e3) << "less the round trip, and 2 ms that acknowledgements may be late";
  }
}

TEST(DrainTime, observe__never_less_than_the_lane_carries) {
  for (const double megabits : {1.0, 10.0, 100.0, 1000.0}) {
    const Rate rate = Rate::from_megabits(megabits);
    for (const Nanos step : {100us, 700us, 3000us, 20'000us}) {
      DrainTime drain;
      constexpr std::uint64_t kHeld = 64 * KiB;
      std::uint64_t acknowledged = 0;
      int bounds = 0;
      double carried = 0;
      for (TimePoint now{1s}; now < TimePoint{5s}; now += step) {
        if (const auto bound = drain.observe(now, acknowledged, kHeld, kNear)) {
          ++bounds;
          EXPECT_GE(bound->most, rate) << megabits << " Mb/s, looked at each " << step.count() << " ns";
        }
        carried += rate.bytes_in(step);
        acknowledged = std::uint64_t(carried) / kHeld * kHeld;
      }
      EXPECT_TRUE(bounds > 0 || megabits > 10.0) << step.count();
    }
  }
}

TEST(DrainTime, observe__acknowledgements_that_wait_behind_what_the_peer_sends_bound_nothing) {
  Looked lane;
  EXPECT_FALSE(lane.look(200 * KiB));
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(lane.hold(200 * KiB, 2500us));
}

TEST(DrainTime, observe__nor_does_a_long_way) {
  Looked lane;
  EXPECT_FALSE(lane.look(200 * KiB, 40ms));
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(lane.hold(200 * KiB, 42ms, 40ms));
}

TEST(DrainTime, observe__nor_a_way_that_is_not_known) {
  Looked lane;
  EXPECT_FALSE(lane.look(200 * KiB, 0ns));
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(lane.hold(200 * KiB, 40ms, 0ns));
}

TEST(DrainTime, observe__nor_little_whose_acknowledgement_waits_for_a_timer) {
  Looked lane;
  EXPECT_FALSE(lane.look(16 * KiB));
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(lane.hold(16 * KiB, 40ms));
  // Or the last of more.
  lane.look(64 * KiB);
  lane.acknowledged += 60 * KiB;
  EXPECT_FALSE(lane.look(4 * KiB));
  for (Nanos t{0}; t < 40ms; t += 500us) EXPECT_FALSE(lane.look(4 * KiB));
}

}  // namespace
}  // namespace railweave::protocol

#include "protocol/lane_probe.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace railweave::protocol {
namespace {

using namespace std::chrono_literals;

constexpr Rate kBelieved = Rate::from_megabits(10);

// A lane that is passed over and carries only the padding of its probes.
struct PassedOver {
  explicit PassedOver(Rate at_first) : believed(at_first) {}

  Rate believed;
  TimePoint now{1s};
  std::uint64_t acknowledged = 1'000'000;
  LaneProbe probe;
  Nanos busy{0};

  void wait(Rate rate, Nanos for_so_long) {
    for (const TimePoint end = now + for_so_long; now < end; now += 1ms) {
      EXPECT_FALSE(probe.observe(now, acknowledged, 0));
      if (probe.begin(now, 0, believed)) carry(rate);
    }
  }
  void carry(Rate rate) {
    const std::uint64_t bytes = probe.left_bytes(), before = acknowledged;
    probe.handed(bytes / 2);
    EXPECT_FALSE(probe.begin(now, bytes / 2, believed));
    probe.handed(bytes / 2);
    EXPECT_EQ(probe.left_bytes(), 0u);
    const TimePoint began = now;
    while (acknowledged < before + bytes) {
      now += 100us;
      acknowledged = std::min(before + bytes, before + std::uint64_t(rate.bytes_in(now - began)));
      if (const auto ended = probe.observe(now, acknowledged, before + bytes - acknowledged))
        believed = std::clamp(believed, ended->least, ended->most);
    }
    busy += now - began;
    EXPECT_FALSE(probe.running());
  }
};

// A shaper's token bucket, full after a pause, makes one probe look fast.
TEST(LaneProbe, begin__one_probe_that_is_lucky_changes_nothing) {
  LaneProbe probe;
  probe.begin(TimePoint{1s}, 0, kBelieved);
  ASSERT_TRUE(probe.begin(TimePoint{2s}, 0, kBelieved));
  probe.handed(LaneProbe::kBytes);
  EXPECT_FALSE(probe.observe(TimePoint{2s} + 1ms, LaneProbe::kBytes, 0));
  ASSERT_TRUE(probe.begin(TimePoint{2s} + 1ms, 0, kBelieved)) << "again, at once";
  probe.handed(LaneProbe::kBytes);
  EXPECT_FALSE(probe.observe(TimePoint{2s} + 500ms, LaneProbe::kBytes, LaneProbe::kBytes));
  const auto bounds = probe.observe(TimePoint{2s} + 501ms, 2 * LaneProbe::kBytes, 0);
  ASSERT_TRUE(bounds);
  EXPECT_LT(bounds->most, kBelieved);
}

TEST(LaneProbe, begin__finds_out_how_fast_a_lane_is_at_least) {
  PassedOver lane(Rate::from_megabits(10));
  lane.wait(Rate::from_megabits(1000), 300ms);
  EXPECT_EQ(lane.believed.megabits(), 40);  // one result raises the estimate four times at most
  lane.wait(Rate::from_megabits(1000), 1s);
  EXPECT_GT(lane.believed.megabits(), 400);
  EXPECT_LE(lane.believed.megabits(), 1000);
}

TEST(LaneProbe, begin__takes_little_of_the_time_however_slow_the_lane) {
  for (const double megabits : {1.0, 5.0, 10.0, 1000.0}) {
    PassedOver lane(Rate::from_megabits(megabits));
    lane.wait(Rate::from_megabits(megabits), 100s);
    EXPECT_GT(lane.busy, 0s) << megabits;
    EXPECT_LT(lane.busy, megabits < 4 ? 6s : 4s) << megabits;
    EXPECT_NEAR(lane.believed.megabits(), megabits, 0.02 * megabits);
  }
}

TEST(LaneProbe, begin__a_lane_that_recovered_is_found_within_five_seconds) {
  PassedOver lane(Rate::from_megabits(1));
  lane.wait(Rate::from_megabits(1), 10s);
  ASSERT_LT(lane.believed.megabits(), 1.1);
  lane.wait(Rate::from_megabits(1000), 5s);
  EXPECT_GT(lane.believed.megabits(), 3.9);
  lane.wait(Rate::from_megabits(1000), 2s);
  EXPECT_GT(lane.believed.megabits(), 400);
}

TEST(LaneProbe, begin__a_lane_that_only_seems_fast_is_tried_ever_more_rarely) {
  LaneProbe probe;
  TimePoint now{1s};
  std::uint64_t acknowledged = 0;
  int probes = 0;
  for (; now < TimePoint{101s}; now += 1ms) {
    if (!probe.begin(now, 0, kBelieved)) continue;
    probe.handed(probe.left_bytes());
    acknowledged += 64 * KiB;
    EXPECT_FALSE(probe.observe(now + 50us, acknowledged, 0));
    ASSERT_TRUE(probe.begin(now + 50us, 0, kBelieved));
    probe.handed(probe.left_bytes());
    acknowledged += 64 * KiB;
    EXPECT_EQ(probe.observe(now + 100us, acknowledged, 0)->least.megabits(), 40);
    probe.used();  // the lane was slow with data
    ++probes;
  }
  EXPECT_GT(probes, 15);
  EXPECT_LT(probes, 30);
}

// A probe of a slow lane takes a quarter of a second where that is possible.
TEST(LaneProbe, begin__gives_a_slow_lane_little) {
  for (const auto& [megabits, bytes] :
       {std::pair{0.1, 32 * KiB}, {1.0, 32 * KiB}, {2.5, 64 * KiB}, {1000.0, 64 * KiB}}) {
    LaneProbe probe;
    probe.begin(TimePoint{1s}, 0, Rate::from_megabits(megabits));
    ASSERT_TRUE(probe.begin(TimePoint{2s}, 0, Rate::from_megabits(megabits)));
    EXPECT_EQ(probe.left_bytes(), bytes) << megabits;
  }
}

TEST(LaneProbe, begin__not_at_once_nor_while_the_lane_is_in_use) {
  LaneProbe probe;
  EXPECT_FALSE(probe.begin(TimePoint{1s}, 0, kBelieved));
  EXPECT_FALSE(probe.begin(TimePoint{2s}, 64 * KiB, kBelieved));
  EXPECT_EQ(probe.left_bytes(), 0u);
  EXPECT_TRUE(probe.begin(TimePoint{2s}, 0, kBelieved));
}

TEST(LaneProbe, observe__a_probe_that_was_given_too_little_ends) {
  LaneProbe probe;
  probe.begin(TimePoint{1s}, 0, kBelieved);
  EXPECT_TRUE(probe.begin(TimePoint{2s}, 0, kBelieved));
  probe.handed(1000);
  EXPECT_FALSE(probe.observe(TimePoint{2s} + 1ms, 0, 1000));
  EXPECT_TRUE(probe.running());
  EXPECT_FALSE(probe.observe(TimePoint{2s} + 2ms, 1000, 0));
  EXPECT_FALSE(probe.running());
  EXPECT_EQ(probe.left_bytes(), 0u);
}

TEST(LaneProbe, observe__a_lane_that_was_taken_for_a_faster_one_is_found_out) {
  PassedOver lane(Rate::from_megabits(80));
  lane.wait(Rate::from_megabits(20), 300ms);
  EXPECT_GT(lane.believed.megabits(), 19);
  EXPECT_LT(lane.believed.megabits(), 30);
}

TEST(LaneProbe, observe__a_time_without_polls_keeps_no_lane_out) {
  LaneProbe probe;
  probe.begin(TimePoint{1s}, 0, kBelieved);
  ASSERT_TRUE(probe.begin(TimePoint{2s}, 0, kBelieved));
  probe.handed(LaneProbe::kBytes);
  const auto bounds = probe.observe(TimePoint{62s}, LaneProbe::kBytes, 0);
  ASSERT_TRUE(bounds);
  EXPECT_GE(bounds->most, kBelieved) << "it may have been as fast";
  EXPECT_TRUE(probe.begin(TimePoint{72s}, 0, kBelieved));
}

TEST(LaneProbe, used__the_time_until_a_probe_begins_again) {
  LaneProbe probe;
  EXPECT_FALSE(probe.begin(TimePoint{1s}, 0, kBelieved));
  EXPECT_TRUE(probe.passed_over());
  probe.used();
  EXPECT_FALSE(probe.passed_over());
  EXPECT_FALSE(probe.begin(TimePoint{2s}, 0, kBelieved));
}

}  // namespace
}  // namespace railweave::protocol

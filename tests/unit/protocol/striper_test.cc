#include "protocol/striper.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace railweave::protocol {
namespace {

using namespace std::chrono_literals;

LaneView lane(double megabits, Nanos min_rtt = 0us, std::uint64_t outstanding_bytes = 0) {
  return {true, Rate::from_megabits(megabits), min_rtt, outstanding_bytes};
}

OthersView others_of(const std::vector<LaneView>& lanes, std::size_t which, std::uint64_t waiting_bytes) {
  OthersView others;
  others.least_bytes = std::uint32_t(std::min<std::uint64_t>(kSegmentBytesMin, waiting_bytes));
  for (std::size_t i = 0; i < lanes.size(); ++i)
    if (i != which) others.add(lanes[i]);
  return others;
}

bool takes(const std::vector<LaneView>& lanes, std::size_t which, std::uint64_t waiting_bytes) {
  const OthersView others = others_of(lanes, which, waiting_bytes);
  const auto segment =
      std::uint32_t(std::min<std::uint64_t>(segment_bytes(lanes[which], others, waiting_bytes), waiting_bytes));
  return finishes_in_time(lanes[which], others, segment, waiting_bytes);
}

TEST(Striper, segment_bytes__whole_lines_within_the_bounds) {
  for (double megabits = 0.01; megabits < 1e6; megabits *= 1.3) {
    const std::uint32_t bytes = segment_bytes(lane(megabits));
    EXPECT_EQ(bytes % 128, 0u);
    EXPECT_GE(bytes, 16 * KiB);
    EXPECT_LE(bytes, 256 * KiB);
  }
  EXPECT_EQ(segment_bytes(LaneView{}) % 128, 0u);
}

TEST(Striper, outstanding_bytes_max__is_less_where_urgent_streams_overtake) {
  LaneView urgent = lane(2000);
  urgent.holds_less = true;
  EXPECT_EQ(outstanding_bytes_max(lane(2000)), 375'000u) << "1.5 ms";
  EXPECT_EQ(outstanding_bytes_max(urgent), 100'000u) << "0.4 ms";
  EXPECT_EQ(segment_bytes(lane(2000)), 125'000u / 128 * 128);
  EXPECT_EQ(segment_bytes(urgent), 50'000u / 128 * 128);
}

TEST(Striper, outstanding_bytes_max__stays_within_the_window) {
  for (const bool known : {true, false}) {
    LaneView bound = lane(2000);
    bound.rate_known = known;
    bound.window_bytes = 20'000;
    EXPECT_EQ(outstanding_bytes_max(bound), 20'000u);
    EXPECT_EQ(segment_bytes(bound), 10'000u / 128 * 128);
    bound.window_bytes = 5000;
    EXPECT_EQ(segment_bytes(bound), 4 * KiB) << "less is not worth a system call";
    bound.window_bytes = 0;
    EXPECT_EQ(outstanding_bytes_max(bound), 0u);
    bound.window_bytes = 10 * MiB;
    LaneView free = bound;
    free.window_bytes = ~0ull;
    EXPECT_EQ(outstanding_bytes_max(bound), outstanding_bytes_max(free)) << "wider than what is worth it";
    EXPECT_EQ(segment_bytes(bound), segment_bytes(free));
  }
}

TEST(Striper, segment_bytes__a_message_of_one_segment_is_shared_by_lanes) {
  std::vector<LaneView> lanes{lane(2000), lane(2000)};
  const auto bytes = [&](std::size_t which, std::uint64_t waiting) {
    return segment_bytes(lanes[which], others_of(lanes, which, waiting), waiting);
  };
  EXPECT_EQ(bytes(0, 100 * MiB), segment_bytes(lanes[0]));
  EXPECT_EQ(bytes(0, 96 * KiB), 48 * KiB);
  lanes[0].outstanding_bytes = 48 * KiB;
  EXPECT_EQ(bytes(1, 48 * KiB), 48 * KiB);
  EXPECT_EQ(bytes(0, 48 * KiB), 16 * KiB) << "it has its share already";
  EXPECT_EQ(segment_bytes(lanes[0], OthersView{}, 96 * KiB), segment_bytes(lanes[0])) << "alone";
  lanes = {lane(3000), lane(1000)};
  EXPECT_EQ(bytes(0, 128 * KiB), 96 * KiB);
  EXPECT_EQ(bytes(1, 128 * KiB), 32 * KiB);
}

TEST(Striper, pause_before_poll__half_the_time_until_refilling_is_worth_it) {
  for (double megabits = 1; megabits < 1e6; megabits *= 1.3) {
    LaneView full = lane(megabits);
    full.outstanding_bytes = outstanding_bytes_max(full);
    const Nanos rest = pause_before_poll(full);
    EXPECT_GT(rest, Nanos(0));
    EXPECT_LE(rest, 1ms);
    EXPECT_FALSE(worth_refilling(full));
    full.outstanding_bytes -= std::min(full.outstanding_bytes, std::uint64_t(full.rate.bytes_in(2 * rest + 2ns)) + 1);
    if (rest < 1ms) {
      EXPECT_TRUE(worth_refilling(full)) << megabits;
      EXPECT_EQ(pause_before_poll(full), Nanos(0));
    }
  }
  LaneView unknown;
  unknown.outstanding_bytes = 10 * MiB;
  EXPECT_EQ(pause_before_poll(unknown), Nanos(0));
}

TEST(Striper, outstanding_bytes_max__room_for_a_segment_at_any_rate) {
  EXPECT_GT(outstanding_bytes_max(LaneView{}), 0u);
  for (double megabits = 0.01; megabits < 1e6; megabits *= 1.3)
    EXPECT_GT(outstanding_bytes_max(lane(megabits)), segment_bytes(lane(megabits)));
}

TEST(Striper, outstanding_bytes_max__covers_the_bandwidth_delay_product) {
  const LaneView far = lane(10'000, 10ms);
  EXPECT_GE(double(outstanding_bytes_max(far)), far.rate.bytes_in(far.min_rtt));
}

TEST(Striper, outstanding_bytes_max__is_bounded_whatever_is_measured) {
  for (double megabits : {1e7, 1e15, 1e30}) EXPECT_EQ(outstanding_bytes_max(lane(megabits, 60s)), 1024 * MiB);
}

TEST(Striper, finishes_in_time__alone_or_unmeasured_a_lane_takes_all) {
  EXPECT_TRUE(finishes_in_time(lane(1), OthersView{}, 64 * KiB, 64 * KiB));
  OthersView others;
  others.add(lane(10'000));
  EXPECT_TRUE(finishes_in_time(LaneView{}, others, 64 * KiB, 64 * KiB));
}

TEST(Striper, finishes_in_time__a_slow_lane_leaves_the_tail_to_a_fast_one) {
  const std::vector<LaneView> lanes{lane(1000), lane(10)};
  EXPECT_TRUE(takes(lanes, 1, 100 * MiB));
  EXPECT_FALSE(takes(lanes, 1, 256 * KiB));
  EXPECT_TRUE(takes(lanes, 0, 256 * KiB));
}

TEST(Striper, finishes_in_time__a_backlog_makes_a_lane_slow) {
  EXPECT_FALSE(takes({lane(1000, 0us, 4 * MiB), lane(1000)}, 0, 128 * KiB));
  EXPECT_TRUE(takes({lane(1000, 0us, 64 * KiB), lane(1000, 0us, 64 * KiB)}, 0, 128 * KiB));
}

TEST(Striper, finishes_in_time__some_lane_always_takes_the_segment) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 100'000; ++round) {
    std::vector<LaneView> lanes;
    const std::size_t count = 2 + random() % 6;
    for (std::size_t i = 0; i < count; ++i)
      lanes.push_back(lane(double(1 + random() % (random() % 2 ? 10 : 100'000)),
                           Nanos(random() % 3 ? random() % 2'000'000 : 0), random() % 2 ? random() % (4 * MiB) : 0));
    const std::uint64_t waiting = 1 + random() % (random() % 2 ? 1000 : 4 * MiB);
    bool taken = false;
    for (std::size_t i = 0; i < count; ++i) taken = taken || takes(lanes, i, waiting);
    ASSERT_TRUE(taken) << "round " << round;
  }
}

}  // namespace
}  // namespace railweave::protocol

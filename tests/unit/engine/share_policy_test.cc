#include "engine/credit/share_policy.h"

#include <gtest/gtest.h>

namespace railweave::engine {
namespace {

using namespace std::chrono_literals;

constexpr Rate kPolicyGigabit = Rate::from_megabits(1000), kPolicyTenGigabit = Rate::from_megabits(10'000);
constexpr Nanos kPolicyRtt = 100us;  // with the queue's 0.4 ms the target is 62500 bytes at 1 Gb/s

Share demand_of(int senders, Rate rate = kPolicyGigabit) {
  return share_of_demand({.lanes = senders, .demanding = senders}, rate, kPolicyRtt);
}

std::uint64_t idle_of(int lanes, Rate rate = kPolicyGigabit) { return idle_window({.lanes = lanes}, rate, kPolicyRtt); }

TEST(SharePolicy, share_of_demand__a_sender_alone_has_no_bound) {
  EXPECT_EQ(demand_of(0), Share());
  EXPECT_EQ(demand_of(1), Share());
  EXPECT_EQ(Share().window_bytes, kAny);
}

TEST(SharePolicy, share_of_demand__several_lanes_get_even_windows) {
  EXPECT_EQ(demand_of(2), (Share{.window_bytes = 31'250}));
  EXPECT_EQ(demand_of(3), (Share{.window_bytes = 20'833}));
  EXPECT_EQ(demand_of(7), (Share{.window_bytes = 8928}));
}

TEST(SharePolicy, share_of_demand__a_longer_round_trip_makes_windows_larger) {
  EXPECT_EQ(share_of_demand({.demanding = 2}, kPolicyGigabit, 1600us).window_bytes, 125'000u);
}

// The lane began while others had 256 KiB under way together, which take 2.1 ms at 1 Gb/s.
TEST(SharePolicy, share_of_demand__the_queue_of_others_is_no_distance) {
  const RailLoad load{.demanding = 2, .least_rtt = 100us};
  EXPECT_EQ(share_of_demand(load, kPolicyGigabit, 100us).window_bytes, 31'250u);
  EXPECT_EQ(share_of_demand(load, kPolicyGigabit, 1ms).window_bytes, 31'250u);
  EXPECT_EQ(share_of_demand(load, kPolicyGigabit, 2ms).window_bytes, 31'250u);
  const std::uint64_t far = share_of_demand(load, kPolicyGigabit, 10ms).window_bytes;
  EXPECT_NEAR(double(far), (10'000 - 2'097.152 + 400) * 62.5, 100) << "but no queue is that long";
}

TEST(SharePolicy, share_of_demand__idle_lanes_take_no_part) {
  EXPECT_EQ(share_of_demand({.lanes = 100, .demanding = 2}, kPolicyGigabit, kPolicyRtt).window_bytes, 31'250u);
}

TEST(SharePolicy, share_of_demand__no_window_is_smaller_than_8_KiB) {
  EXPECT_EQ(demand_of(8), (Share{.window_bytes = 8 * KiB}));
  EXPECT_EQ(demand_of(2, Rate{}), (Share{.window_bytes = 8 * KiB}));
}

// On a slow rail: 32 windows of 8 KiB are the 256 KiB that any switch can buffer.
TEST(SharePolicy, share_of_demand__turns_begin_where_windows_exceed_256_KiB) {
  EXPECT_EQ(demand_of(32), (Share{.window_bytes = 8 * KiB}));
  EXPECT_EQ(demand_of(33), (Share{.window_bytes = 8 * KiB, .turns = 32, .turn_bytes = 36 * KiB}));
  EXPECT_EQ(demand_of(33, Rate{}), (Share{.window_bytes = 8 * KiB, .turns = 32, .turn_bytes = 8 * KiB}));
}

// 10 ms of 1 Gb/s are 1,250,000 bytes.
TEST(SharePolicy, share_of_demand__a_round_of_turns_takes_10_ms_if_possible) {
  EXPECT_EQ(demand_of(50).turn_bytes, 24 * KiB);
  EXPECT_EQ(demand_of(100).turn_bytes, 12 * KiB);
  EXPECT_EQ(demand_of(160).turn_bytes, 8 * KiB);
  EXPECT_EQ(demand_of(1000), (Share{.window_bytes = 8 * KiB, .turns = 32, .turn_bytes = 8 * KiB}))
      << "as far as 8 KiB allow";
  EXPECT_EQ(demand_of(33, Rate::from_megabits(100)).turn_bytes, 8 * KiB);
}

// At 1 Gb/s 256 KiB take 2.1 ms.
TEST(SharePolicy, turn_times__are_twice_and_four_times_the_longest_queue) {
  const TurnTimes times = turn_times({.least_rtt = kPolicyRtt}, kPolicyGigabit);
  EXPECT_EQ(times.stalled, 4'194'304ns);
  EXPECT_EQ(times.unused, 8'388'608ns);
}

TEST(SharePolicy, turn_times__of_a_rail_with_a_long_path_are_longer) {
  EXPECT_EQ(turn_times({.least_rtt = 9600us}, kPolicyTenGigabit).stalled, 20ms)
      << "four targets of 10 ms would be 80 ms";
  EXPECT_EQ(turn_times({.least_rtt = 600us}, kPolicyTenGigabit).stalled, 8ms);
}

TEST(SharePolicy, turn_times__of_a_rail_of_which_nothing_is_known_are_bounded) {
  EXPECT_EQ(turn_times({}, Rate{}).stalled, 20ms);
  EXPECT_EQ(turn_times({}, Rate{1e300}).stalled, 3'200us) << "the queue's time alone";
}

// On a fast rail: four times the target of 625000 bytes are 305 windows.
TEST(SharePolicy, share_of_demand__turns_of_a_fast_rail_begin_at_four_targets) {
  EXPECT_EQ(demand_of(76, kPolicyTenGigabit), (Share{.window_bytes = 8223}));
  EXPECT_EQ(demand_of(77, kPolicyTenGigabit), (Share{.window_bytes = 8 * KiB}));
  EXPECT_EQ(demand_of(305, kPolicyTenGigabit), (Share{.window_bytes = 8 * KiB}));
  EXPECT_EQ(demand_of(306, kPolicyTenGigabit), (Share{.window_bytes = 8 * KiB, .turns = 305, .turn_bytes = 36 * KiB}));
}

// Another process may write any count of bytes into the account, and not every rail's speed is known.
TEST(SharePolicy, share_of_demand__a_rate_beyond_all_numbers_stops_nobody) {
  for (const double rate : {1e20, 1e22, 1e30, 1e300})
    EXPECT_GE(share_of_demand({.demanding = 2}, Rate{rate}, 50ms).window_bytes, std::uint64_t{1} << 50) << rate;
}

TEST(SharePolicy, idle_window__few_lanes_have_none) {
  for (const int lanes : {0, 1, 2}) EXPECT_EQ(idle_of(lanes), kAny) << lanes;
  EXPECT_EQ(idle_of(19, kPolicyTenGigabit), kAny);
}

TEST(SharePolicy, idle_window__more_share_128_KiB_or_two_targets) {
  EXPECT_EQ(idle_of(3), 43'690u);
  EXPECT_EQ(idle_of(16), 8 * KiB);
  EXPECT_EQ(idle_of(20, kPolicyTenGigabit), 62'500u);
}

TEST(SharePolicy, idle_window__is_4_KiB_at_least) {
  EXPECT_EQ(idle_of(31), 4228u);
  EXPECT_EQ(idle_of(33), 4 * KiB);
  EXPECT_EQ(idle_of(1024), 4 * KiB);
}

TEST(SharePolicy, idle_window__senders_with_demand_count_as_lanes_do) {
  EXPECT_EQ(idle_window({.lanes = 16, .demanding = 15}, kPolicyGigabit, kPolicyRtt), 8 * KiB);
}

}  // namespace
}  // namespace railweave::engine

#include "protocol/rate_estimator.h"

#include <gtest/gtest.h>

namespace railweave::protocol {
namespace {

using namespace std::chrono_literals;

// A lane that carries `rate` whenever it is busy.
struct Carrier {
  TimePoint now{1s};
  double acknowledged = 0;
  RateEstimator estimator;

  void busy(Rate rate, Nanos for_so_long, Nanos step = 1ms) {
    // so much that a sample never ends because all of it is acknowledged
    const auto outstanding = std::uint64_t(rate.bytes_in(8ms)) + 64 * KiB;
    for (Nanos t{0}; t < for_so_long; t += step) {
      estimator.observe(now, std::uint64_t(acknowledged), outstanding);
      now += step;
      acknowledged += rate.bytes_in(step);
    }
    estimator.observe(now, std::uint64_t(acknowledged), outstanding);
  }
  void idle(Nanos for_so_long, Nanos step = 1ms) {
    for (Nanos t{0}; t < for_so_long; t += step) {
      estimator.observe(now, std::uint64_t(acknowledged), 0);
      estimator.age(now, true);
      now += step;
    }
  }
};

constexpr Rate kGigabit = Rate::from_megabits(1000);

TEST(RateEstimator, observe__an_idle_lane_teaches_nothing) {
  Carrier lane;
  lane.idle(1s);
  EXPECT_FALSE(lane.estimator.known());
  EXPECT_EQ(lane.estimator.rate(), Rate{});
}

TEST(RateEstimator, observe__finds_the_rate_of_a_busy_lane) {
  Carrier lane;
  lane.busy(kGigabit, 100ms);
  ASSERT_TRUE(lane.estimator.known());
  EXPECT_NEAR(lane.estimator.rate().megabits(), 1000, 20);
}

TEST(RateEstimator, observe__follows_a_lane_that_slows_down_and_recovers) {
  Carrier lane;
  lane.busy(kGigabit, 200ms);
  lane.busy(Rate::from_megabits(100), 200ms);
  EXPECT_NEAR(lane.estimator.rate().megabits(), 100, 20);
  lane.busy(kGigabit, 200ms);
  EXPECT_NEAR(lane.estimator.rate().megabits(), 1000, 50);
}

TEST(RateEstimator, observe__a_dead_lane_seems_ever_slower) {
  Carrier lane;
  lane.busy(kGigabit, 100ms);
  lane.busy(Rate{0}, 500ms);
  EXPECT_LT(lane.estimator.rate().megabits(), 1);
}

TEST(RateEstimator, observe__an_acknowledgement_held_by_a_timer_is_no_slow_lane) {
  Carrier lane;
  lane.busy(kGigabit, 100ms);
  lane.idle(1ms);
  const Rate before = lane.estimator.rate();
  for (int i = 0; i < 100; ++i) {  // a control frame, polled while the peer's kernel delays its acknowledgement
    for (int poll = 0; poll < 40; ++poll, lane.now += 1ms)
      lane.estimator.observe(lane.now, std::uint64_t(lane.acknowledged), 64);
    lane.acknowledged += 64;
    lane.estimator.observe(lane.now, std::uint64_t(lane.acknowledged), 0);
  }
  EXPECT_GE(lane.estimator.rate(), before);
}

// Acknowledgements wait behind the peer's data on the lane, and arrive in bunches.
TEST(RateEstimator, observe__finds_the_rate_by_acknowledgements_in_bunches) {
  for (const Nanos apart : {700us, 1300us, 1900us, 3100us}) {
    Carrier lane;
    double least = 1e9, most = 0;
    for (Nanos t{0}; t < 200ms; t += 100us, lane.now += 100us) {
      lane.acknowledged = kGigabit.bytes_in(t / apart * apart);
      lane.estimator.observe(lane.now, std::uint64_t(lane.acknowledged), 1 * MiB);
      if (t < 20ms) continue;
      least = std::min(least, lane.estimator.rate().megabits());
      most = std::max(most, lane.estimator.rate().megabits());
    }
    EXPECT_GT(least, 900) << apart.count();
    EXPECT_LT(most, 1150) << apart.count();
  }
}

TEST(RateEstimator, observe__a_lane_that_carried_all_it_got_is_not_slow) {
  Carrier lane;
  lane.busy(kGigabit, 100ms);
  const Rate before = lane.estimator.rate();
  for (int i = 0; i < 1000; ++i) {  // 50 KiB each millisecond are 0.4 Gb/s: a segment is outstanding at every poll
    lane.now += 500us;
    lane.estimator.observe(lane.now, std::uint64_t(lane.acknowledged) + 10'000, 41'200);
    lane.now += 500us;
    lane.acknowledged += 51'200;
    lane.estimator.observe(lane.now, std::uint64_t(lane.acknowledged), 40'000);
  }
  EXPECT_GE(lane.estimator.rate().megabits(), 0.95 * before.megabits());
}

TEST(RateEstimator, observe__a_lane_that_seemed_slow_recovers_in_milliseconds) {
  Carrier lane;
  lane.busy(Rate::from_megabits(100), 100ms);
  lane.busy(kGigabit, 5ms);
  EXPECT_GT(lane.estimator.rate().megabits(), 800);
}

// A busy machine: at each poll most of the lane's bytes are acknowledged, and the lane is filled again.
TEST(RateEstimator, handed__a_lane_that_seemed_slow_recovers_by_late_polls) {
  Carrier lane;
  lane.busy(Rate::from_megabits(400), 100ms);
  constexpr std::uint64_t kLeft = 100 * KiB;
  const auto carried = std::uint64_t(kGigabit.bytes_in(4ms));
  for (int i = 0; i < 20; ++i) {
    lane.estimator.observe(lane.now, std::uint64_t(lane.acknowledged), kLeft);
    lane.estimator.handed(carried);
    lane.now += 4ms;
    lane.acknowledged += double(carried);
  }
  EXPECT_NEAR(lane.estimator.rate().megabits(), 1000, 50);
}

TEST(RateEstimator, handed__what_passed_between_two_polls_gives_a_least_rate) {
  Carrier lane;
  for (int i = 0; i < 20; ++i) {
    lane.estimator.observe(lane.now, std::uint64_t(lane.acknowledged), 0);
    lane.estimator.handed(128 * KiB);
    lane.now += 2ms;
    lane.acknowledged += 128 * KiB;
  }
  ASSERT_TRUE(lane.estimator.known());
  EXPECT_NEAR(lane.estimator.rate().bytes_per_s, 128.0 * KiB / 0.002, 1e6);
}

TEST(RateEstimator, drained__small_messages_one_after_the_other_are_no_burst) {
  RateEstimator estimator;
  TimePoint now{1s};
  estimator.observe(now, 0, 0);
  for (int i = 0; i < 10'000; ++i) {
    estimator.handed(100);
    estimator.drained();
  }
  estimator.observe(now + 20ms, 1'000'000, 0);
  EXPECT_FALSE(estimator.known()) << estimator.rate().bytes_per_s;
  estimator.handed(64 * KiB);
  estimator.drained();
  estimator.observe(now + 21ms, 1'000'000 + 64 * KiB, 0);
  EXPECT_TRUE(estimator.known()) << "that was enough at once";
}

// A session mostly wants no report of a lane while at most 32 KiB wait or are outstanding.
TEST(RateEstimator, drained__middling_messages_are_no_burst) {
  for (const bool looked_at_between : {false, true}) {
    RateEstimator estimator;
    TimePoint now{1s};
    std::uint64_t acknowledged = 0;
    if (looked_at_between) estimator.observe(now, 0, 0);
    for (int i = 0; i < 1000; ++i) {
      estimator.handed(16'448);
      if (looked_at_between && i % 10 == 0) estimator.observe(now, acknowledged, 16'448);
      acknowledged += 16'448;
      estimator.drained();
      now += 1ms;
    }
    estimator.observe(now, acknowledged, 0);
    EXPECT_FALSE(estimator.known()) << estimator.rate().bytes_per_s;
  }
}

TEST(RateEstimator, handed__the_time_before_the_first_poll_teaches_nothing) {
  RateEstimator estimator;
  estimator.handed(64 * KiB);
  estimator.observe(TimePoint{24h}, 64 * KiB, 0);
  EXPECT_FALSE(estimator.known()) << estimator.rate().bytes_per_s;
}

TEST(RateEstimator, age__not_of_a_lane_that_is_idle_because_others_are_chosen) {
  Carrier lane;
  lane.busy(kGigabit, 100ms);
  lane.busy(Rate::from_megabits(10), 200ms);
  lane.idle(1ms);
  const Rate slow = lane.estimator.rate();
  lane.estimator.age(lane.now + 10s, false);
  EXPECT_EQ(lane.estimator.rate(), slow);
  lane.estimator.age(lane.now + 10s, true);
  EXPECT_EQ(lane.estimator.rate(), slow) << "that time is over";
}

TEST(RateEstimator, observe__small_bursts_never_lower_the_estimate) {
  Carrier lane;
  lane.busy(kGigabit, 100ms);
  const Rate before = lane.estimator.rate();
  for (int i = 0; i < 1000; ++i) {  // 100 bytes, acknowledged after 200 us
    lane.estimator.observe(lane.now, std::uint64_t(lane.acknowledged), 100);
    lane.now += 200us;
    lane.acknowledged += 100;
    lane.estimator.observe(lane.now, std::uint64_t(lane.acknowledged), 0);
    lane.now += 1ms;
  }
  EXPECT_GE(lane.estimator.rate(), before);
}

TEST(RateEstimator, observe__bursts_that_a_shaper_lets_through_are_no_fast_lane) {
  Carrier lane;
  const auto burst = [&] {  // 32 KiB at 100 Gb/s, then a pause in which the bucket fills again
    lane.estimator.observe(lane.now, std::uint64_t(lane.acknowledged), 32 * KiB);
    lane.now += 3us;
    lane.acknowledged += 32 * KiB;
    lane.estimator.observe(lane.now, std::uint64_t(lane.acknowledged), 0);
    lane.now += 1ms;
  };
  burst();
  EXPECT_GT(lane.estimator.rate().megabits(), 50'000);  // nothing better is known
  lane.busy(kGigabit, 5ms);
  EXPECT_NEAR(lane.estimator.rate().megabits(), 1000, 100);  // the first sample replaces the estimate
  lane.idle(1ms);
  for (int i = 0; i < 10'000; ++i) burst();
  EXPECT_LT(lane.estimator.rate().megabits(), 1200);
}

TEST(RateEstimator, observe__a_caller_who_sends_little_is_no_slow_lane) {
  Carrier lane;
  lane.busy(kGigabit, 100ms);
  for (int i = 0; i < 10'000; ++i) {  // one message is outstanding at every poll, a new one each time
    lane.now += 250us;
    lane.acknowledged += 1000;
    lane.estimator.observe(lane.now, std::uint64_t(lane.acknowledged) + 300'000, 1000);
  }
  EXPECT_GT(lane.estimator.rate().megabits(), 900);
}

TEST(RateEstimator, observe__a_pause_nobody_watched_lowers_nothing) {
  Carrier lane;
  lane.busy(kGigabit, 100ms);
  const double before = lane.estimator.rate().megabits();
  lane.now += 200ms;  // the rest was acknowledged at once, and then nothing was sent
  lane.acknowledged += 100'000;
  lane.estimator.observe(lane.now, std::uint64_t(lane.acknowledged), 0);
  EXPECT_NEAR(lane.estimator.rate().megabits(), before, 1);
}

TEST(RateEstimator, observe__even_a_dead_lane_keeps_a_rate_that_can_grow) {
  Carrier lane;
  lane.busy(kGigabit, 100ms);
  lane.busy(Rate{0}, 2s, 500ms);
  EXPECT_GT(lane.estimator.rate().bytes_per_s, 0);
}

// The peer is stopped for a while, or has no processor as the transfer begins. A lane that looks slow then gets so
// little that each poll finds all of it acknowledged: no sample can show the true rate.
TEST(RateEstimator, age__silence_before_the_first_sample_is_got_over) {
  for (const bool heard_before : {true, false}) {
    Carrier lane;
    if (heard_before) {
      lane.estimator.observe(lane.now, 0, 64 * KiB);
      lane.now += 50us;
      lane.acknowledged = 64 * KiB;
      lane.estimator.observe(lane.now, 64 * KiB, 0);
      EXPECT_GT(lane.estimator.rate().megabits(), 5'000);
    }
    lane.busy(Rate{0}, 5s);
    EXPECT_LT(lane.estimator.rate().megabits(), 1);
    for (Nanos t{0}; t < 3s; t += 1ms) {
      lane.acknowledged += 32 * KiB;
      lane.now += 1ms;
      lane.estimator.observe(lane.now, std::uint64_t(lane.acknowledged), 0);
      lane.estimator.age(lane.now, true);
    }
    EXPECT_GT(lane.estimator.rate().megabits(), 5'000) << heard_before;
  }
}

// Two segments fill a lane that is believed slow; at 1 Gb/s they are acknowledged before the next poll.
TEST(RateEstimator, observe__a_first_sample_far_too_slow_is_got_over) {
  Carrier lane;
  lane.busy(Rate::from_megabits(120), 2ms);
  constexpr std::uint64_t kGiven = 32 * KiB;
  for (int i = 0; i < 2'000; ++i) {
    lane.estimator.observe(lane.now, std::uint64_t(lane.acknowledged), 0);
    lane.estimator.handed(kGiven);
    // The faster the lane is believed to be, the sooner the session polls it.
    lane.now += std::max(Rate::from_megabits(1000).time_for(kGiven), lane.estimator.rate().time_for(kGiven * 3 / 4));
    lane.acknowledged += kGiven;
  }
  EXPECT_GT(lane.estimator.rate().megabits(), 800);
  EXPECT_LT(lane.estimator.rate().megabits(), 1100);
}

TEST(RateEstimator, no_faster__lowers_by_how_long_it_was_seen_and_never_raises) {
  Carrier lane;
  lane.estimator.no_faster(Rate::from_megabits(1), 1s);
  EXPECT_FALSE(lane.estimator.known());
  lane.busy(kGigabit, 100ms);
  const Rate before = lane.estimator.rate();
  lane.estimator.no_faster(Rate::from_megabits(2000), 1s);
  EXPECT_EQ(lane.estimator.rate(), before);
  lane.estimator.no_faster(Rate::from_megabits(100), 1ms);
  EXPECT_GT(lane.estimator.rate().megabits(), 800);
  lane.estimator.no_faster(Rate::from_megabits(100), 100ms);
  EXPECT_NEAR(lane.estimator.rate().megabits(), 100, 1);
}

TEST(RateEstimator, no_faster__an_idle_lane_grows_back_to_what_bursts_showed) {
  Carrier lane;
  lane.estimator.observe(lane.now, 0, 64 * KiB);
  lane.now += 50us;
  lane.acknowledged = 64 * KiB;
  lane.estimator.observe(lane.now, 64 * KiB, 0);
  const Rate before = lane.estimator.rate();
  lane.estimator.no_faster(Rate::from_megabits(10), 1s);
  EXPECT_LT(lane.estimator.rate().megabits(), 11);
  lane.idle(5s);
  EXPECT_EQ(lane.estimator.rate(), before);
}

TEST(RateEstimator, age__an_idle_lane_earns_another_try) {
  Carrier lane;
  lane.busy(kGigabit, 100ms);
  lane.busy(Rate::from_megabits(10), 200ms);
  const Rate slow = lane.estimator.rate();
  lane.idle(5s);
  EXPECT_GT(lane.estimator.rate().bytes_per_s, 4 * slow.bytes_per_s);
  lane.idle(60s);
  EXPECT_LE(lane.estimator.rate().megabits(), 1100);  // no more than samples ever showed
}

}  // namespace
}  // namespace railweave::protocol

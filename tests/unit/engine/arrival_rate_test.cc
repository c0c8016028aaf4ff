#include "engine/credit/arrival_rate.h"

#include <gtest/gtest.h>

#include <cmath>

namespace railweave::engine {
namespace {

using namespace std::chrono_literals;

constexpr Rate kArrivingGigabit = Rate::from_megabits(1000);
constexpr std::uint64_t kGigabitSample = 625'000;  // bytes in 5 ms
constexpr std::uint64_t kEarlierBytes = 1'000'000'000'000;

class ArrivalRateTest : public testing::Test {
 protected:
  explicit ArrivalRateTest(Rate most = {}) : rate_(most) { rate_.observe(now_, bytes_); }
  void arrive(Nanos in, std::uint64_t bytes) { rate_.observe(now_ += in, bytes_ += bytes); }
  double megabits() const { return rate_.rate().megabits(); }

  TimePoint now_{1h};
  std::uint64_t bytes_ = kEarlierBytes;
  ArrivalRate rate_;
};

TEST_F(ArrivalRateTest, observe__what_arrived_before_the_first_poll_does_not_count) {
  EXPECT_EQ(rate_.rate(), Rate{});
  arrive(5ms, 0);
  EXPECT_EQ(rate_.rate(), Rate{});
}

TEST_F(ArrivalRateTest, observe__a_sample_takes_5_ms_at_least) {
  arrive(4999us, kGigabitSample / 2);
  EXPECT_EQ(rate_.rate(), Rate{});
  arrive(1us, kGigabitSample / 2);
  EXPECT_DOUBLE_EQ(megabits(), 1000);
}

TEST_F(ArrivalRateTest, observe__a_late_sample_counts_for_its_whole_time) {
  arrive(20ms, kGigabitSample);
  EXPECT_DOUBLE_EQ(megabits(), 250);
}

TEST_F(ArrivalRateTest, observe__the_fastest_sample_counts_and_is_forgotten_slowly) {
  arrive(5ms, kGigabitSample / 10);
  EXPECT_DOUBLE_EQ(megabits(), 100);
  arrive(5ms, kGigabitSample);
  arrive(5ms, kGigabitSample);
  EXPECT_DOUBLE_EQ(megabits(), 1000);
  arrive(5ms, kGigabitSample / 10);
  EXPECT_NEAR(megabits(), 1000 * std::exp2(-0.001), 1e-6);
}

// A lane that was idle for long would measure a rate that the time without traffic makes small. The lowest rate counts
// for all lanes.
TEST_F(ArrivalRateTest, observe__nothing_is_known_after_a_second_without_a_poll) {
  arrive(5ms, kGigabitSample);
  arrive(1s, kGigabitSample);
  EXPECT_GT(megabits(), 800);
  arrive(1s + 1ns, kGigabitSample);
  EXPECT_EQ(rate_.rate(), Rate{});
  arrive(5ms, kGigabitSample);
  EXPECT_DOUBLE_EQ(megabits(), 1000);
}

// Another process may have written any count.
TEST_F(ArrivalRateTest, observe__a_rail_of_unknown_speed_has_at_most_400_gigabits) {
  arrive(5ms, std::uint64_t(1) << 62);
  EXPECT_DOUBLE_EQ(megabits(), 400'000);
}

// All processes of the host stood still, and then read at once everything that had arrived.
TEST_F(ArrivalRateTest, observe__a_burst_after_a_pause_is_averaged_over_both) {
  arrive(395ms, 0);
  arrive(5ms, 10 * kGigabitSample);
  EXPECT_DOUBLE_EQ(megabits(), 125);
}

TEST_F(ArrivalRateTest, observe__a_rate_halves_in_5_s_by_many_samples_and_by_one) {
  arrive(5ms, kGigabitSample);
  for (int i = 0; i < 1000; ++i) arrive(5ms, 100);
  EXPECT_NEAR(megabits(), 500, 0.001);
  arrive(1s, 100);
  EXPECT_NEAR(megabits(), 500 * std::exp2(-0.2), 0.001);
}

TEST_F(ArrivalRateTest, observe__any_speed_counts_while_the_nominal_one_is_unknown) {
  for (int i = 0; i < 2; ++i) arrive(5ms, 300 * kGigabitSample);
  EXPECT_DOUBLE_EQ(megabits(), 300'000);
}

// The place's owner began anew in another memory, or another process wrote into this memory.
TEST_F(ArrivalRateTest, observe__a_count_that_went_back_begins_anew) {
  arrive(5ms, kGigabitSample);
  rate_.observe(now_ += 5ms, bytes_ = 100);
  EXPECT_DOUBLE_EQ(megabits(), 1000) << "no sample";
  arrive(4ms, 2 * kGigabitSample);
  EXPECT_DOUBLE_EQ(megabits(), 1000) << "of 4 ms";
  arrive(1ms, 0);
  EXPECT_DOUBLE_EQ(megabits(), 2000);
}

TEST_F(ArrivalRateTest, begin_sample__the_next_count_is_not_compared_with_the_last) {
  arrive(5ms, kGigabitSample);
  rate_.begin_sample();
  arrive(5ms, 1000 * kGigabitSample);
  EXPECT_DOUBLE_EQ(megabits(), 1000);
  for (int i = 0; i < 2; ++i) arrive(5ms, 2 * kGigabitSample);
  EXPECT_DOUBLE_EQ(megabits(), 2000);
}

class GigabitArrivalRateTest : public ArrivalRateTest {
 protected:
  GigabitArrivalRateTest() : ArrivalRateTest(kArrivingGigabit) {}
};

TEST_F(GigabitArrivalRateTest, observe__the_rate_is_bounded_by_the_nominal_speed) {
  arrive(5ms, kGigabitSample / 2);
  EXPECT_DOUBLE_EQ(megabits(), 500);
  for (int i = 0; i < 2; ++i) arrive(5ms, 3 * kGigabitSample);
  EXPECT_EQ(rate_.rate(), kArrivingGigabit);
}

}  // namespace
}  // namespace railweave::engine

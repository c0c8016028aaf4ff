#include "protocol/late_frames.h"

#include <gtest/gtest.h>

namespace railweave::protocol {
namespace {

using namespace std::chrono_literals;

// A lane that is observed every 20 ms.
class LateFramesTest : public testing::Test {
 protected:
  void observe_for(Nanos time) {
    for (const TimePoint end = now_ + time; now_ < end;) {
      now_ += 20ms;
      frames_.observe(now_, now_, taken_, acknowledged_, smoothed_rtt_);
    }
  }
  std::uint64_t late() {
    const LateFrames::Range range = frames_.take_new();
    first_ = range.first;
    return range.end - range.first;
  }

  LateFrames frames_;
  TimePoint now_{1h};
  std::uint64_t taken_ = 0, acknowledged_ = 0, first_ = 0;
  Nanos smoothed_rtt_ = 100us;
};

TEST_F(LateFramesTest, take_new__gives_frames_unacknowledged_for_60_ms) {
  taken_ = 5, acknowledged_ = 2;
  observe_for(60ms);
  EXPECT_FALSE(frames_.any());
  observe_for(20ms);
  EXPECT_TRUE(frames_.any());
  EXPECT_EQ(late(), 3u);
  EXPECT_EQ(first_, 2u);
}

TEST_F(LateFramesTest, take_new__gives_each_frame_once) {
  taken_ = 5;
  observe_for(80ms);
  EXPECT_EQ(late(), 5u);
  taken_ = 7;
  observe_for(60ms);
  EXPECT_EQ(late(), 0u);
  EXPECT_TRUE(frames_.any());
  observe_for(20ms);
  EXPECT_EQ(late(), 2u);
  EXPECT_EQ(first_, 5u);
}

TEST_F(LateFramesTest, a_lane_that_is_acknowledged_is_not_late_any_more) {
  taken_ = 5;
  observe_for(100ms);
  ASSERT_TRUE(frames_.any());
  acknowledged_ = 5;
  observe_for(20ms);
  EXPECT_FALSE(frames_.any());
  EXPECT_EQ(late(), 0u) << "though nobody took them";
}

TEST_F(LateFramesTest, a_lane_that_moves_on_is_not_late_however_long_it_is_busy) {
  taken_ = 2;
  for (int i = 0; i < 500; ++i) {
    observe_for(20ms);
    EXPECT_FALSE(frames_.any()) << i;
    ++taken_, ++acknowledged_;
  }
}

TEST_F(LateFramesTest, of_long_round_trips_four_are_waited_for) {
  smoothed_rtt_ = 100ms;
  taken_ = 5;
  observe_for(400ms);
  EXPECT_FALSE(frames_.any());
  observe_for(20ms);
  EXPECT_EQ(late(), 5u);
}

// A connection that is made in an outage measures the outage as its first round trip.
TEST_F(LateFramesTest, a_second_is_enough_whatever_a_round_trip_is_believed_to_take) {
  smoothed_rtt_ = 3s;
  taken_ = 5;
  observe_for(1s);
  EXPECT_FALSE(frames_.any());
  observe_for(20ms);
  EXPECT_TRUE(frames_.any());
}

// After a second without polls the time within it at which a frame was taken is unknown.
TEST_F(LateFramesTest, a_late_poll_counts_frames_from_then_on) {
  taken_ = 1, acknowledged_ = 1;
  observe_for(20ms);
  now_ += 1s;
  taken_ = 5;
  observe_for(60ms);
  EXPECT_FALSE(frames_.any());
  observe_for(20ms);
  EXPECT_EQ(late(), 4u);
}

TEST_F(LateFramesTest, polls_that_come_very_often_are_not_all_kept) {
  smoothed_rtt_ = 250ms;
  for (int i = 0; i < 20'000; ++i) {
    taken_ += 1;
    acknowledged_ = taken_ > 500 ? taken_ - 500 : 0;  // 0.5 s old
    now_ += 1ms;
    frames_.observe(now_, now_, taken_, acknowledged_, smoothed_rtt_);
    ASSERT_FALSE(frames_.any()) << i;
  }
  observe_for(1100ms);
  EXPECT_EQ(late(), 500u);
}

// The kernel was asked before the thread lost its core. Acknowledgements since then are unknown.
TEST_F(LateFramesTest, the_wait_of_a_thread_for_its_core_makes_no_frame_late) {
  taken_ = 5;
  observe_for(20ms);
  const TimePoint asked_at = now_ + 20ms;
  now_ += 200ms;
  frames_.observe(asked_at, now_, taken_, acknowledged_, smoothed_rtt_);
  EXPECT_FALSE(frames_.any());
}

// Frames that were taken while the thread waited are younger than the question to the kernel.
TEST_F(LateFramesTest, frames_taken_in_the_wait_are_as_old_as_its_end) {
  taken_ = 5;
  frames_.observe(now_, now_ + 50ms, taken_, acknowledged_, smoothed_rtt_);
  now_ += 100ms;
  frames_.observe(now_, now_, taken_, acknowledged_, smoothed_rtt_);
  EXPECT_FALSE(frames_.any());
  observe_for(20ms);
  EXPECT_EQ(late(), 5u);
}

}  // namespace
}  // namespace railweave::protocol

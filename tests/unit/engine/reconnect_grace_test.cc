#include "engine/health/reconnect_grace.h"

#include <gtest/gtest.h>

namespace railweave::engine {
namespace {

using namespace std::chrono_literals;

constexpr Nanos kGraceTimeout = 10s;
constexpr TimePoint kThen{1h};

Status some_loss() { return Status(Code::remote, Scope::session, "connection to them lost"); }

class Hope : public testing::Test {
 protected:
  bool lost(TimePoint at, bool unanswered = false, bool leaving = false) {
    return grace_.last_lane_lost(at, unanswered, leaving, some_loss());
  }
  bool waits(TimePoint at) const { return grace_.over(at).ok(); }

  ReconnectGrace grace_{kGraceTimeout};
};

TEST_F(Hope, without_a_reason_there_is_none) { EXPECT_FALSE(lost(kThen)); }

TEST_F(Hope, who_never_lost_a_lane_is_not_over) { EXPECT_TRUE(waits(kThen)); }

TEST_F(Hope, who_gave_one_up_waits_for_the_peer_timeout_from_then) {
  grace_.extend(kThen);
  ASSERT_TRUE(lost(kThen + 1s));
  EXPECT_TRUE(waits(kThen + 9999ms));
  EXPECT_EQ(grace_.over(kThen + 10s).message(), some_loss().message());
}

TEST_F(Hope, given_up_long_ago_is_no_reason) {
  grace_.extend(kThen);
  EXPECT_FALSE(lost(kThen + 10s));
}

TEST_F(Hope, a_reset_is_asked_about) {
  grace_.lane_reset(kThen, 0);
  ASSERT_TRUE(lost(kThen));
  EXPECT_TRUE(waits(kThen + 9999ms));
  EXPECT_FALSE(waits(kThen + 10s));
}

TEST_F(Hope, of_a_session_that_has_just_begun_too) {
  grace_.lane_restored(kThen);
  grace_.lane_reset(kThen + 1ms, 0);
  EXPECT_TRUE(lost(kThen + 1ms));
}

TEST_F(Hope, a_path_that_resets_all_it_takes_gives_none_after_the_peer_timeout) {
  bool awaited = true;
  TimePoint t = kThen;
  for (; awaited && t < kThen + 1min; t += 1s) {
    grace_.lane_reset(t, 1000);
    awaited = lost(t) && waits(t);
    grace_.lane_restored(t + 100ms);
  }
  EXPECT_EQ(t, kThen + 11s);
}

TEST_F(Hope, resets_between_which_a_segment_gets_through_are_each_asked_about) {
  for (int i = 0; i < 60; ++i) {
    grace_.lane_reset(kThen + i * 1s, 1000 + std::uint64_t(i));
    ASSERT_TRUE(lost(kThen + i * 1s)) << i;
    grace_.lane_restored(kThen + i * 1s + 100ms);
  }
}

TEST_F(Hope, resets_of_an_idle_session_whose_lanes_lived_for_a_second_are_each_asked_about) {
  for (int i = 0; i < 60; ++i) {
    grace_.lane_reset(kThen + i * 2s, 1000);
    ASSERT_TRUE(lost(kThen + i * 2s)) << i;
    grace_.lane_restored(kThen + i * 2s + 1s);
  }
}

TEST_F(Hope, a_lane_that_is_dialled_is_waited_for__until_none_is) {
  grace_.join_began();
  grace_.join_began();
  ASSERT_TRUE(lost(kThen));
  grace_.join_ended();
  EXPECT_TRUE(waits(kThen + 5s));
  grace_.join_ended();
  EXPECT_FALSE(waits(kThen + 5s));
}

TEST_F(Hope, a_lane_that_is_dialled_again_and_again_is_waited_for_no_longer_than_the_peer_timeout) {
  grace_.join_began();
  ASSERT_TRUE(lost(kThen));
  EXPECT_TRUE(waits(kThen + 9999ms));
  EXPECT_FALSE(waits(kThen + 10s));
}

TEST_F(Hope, where_somebody_leaves_only_a_lane_that_is_dialled_counts) {
  grace_.extend(kThen);
  EXPECT_FALSE(lost(kThen, false, true));
  grace_.join_began();
  EXPECT_TRUE(lost(kThen, false, true));
  EXPECT_TRUE(waits(kThen + 1s));
  grace_.join_ended();
  EXPECT_FALSE(waits(kThen + 1s)) << "nobody dials any more";
}

TEST_F(Hope, a_kernel_that_loses_patience_with_a_silent_peer_does_so_too_soon) {
  grace_.peer_silent(kThen);
  EXPECT_FALSE(lost(kThen + 7s)) << "a reset is no lost patience";
  ASSERT_TRUE(lost(kThen + 7s, true));
  EXPECT_TRUE(waits(kThen + 9999ms));
  EXPECT_FALSE(waits(kThen + 10s)) << "silent since then, not since the kernel said so";
}

TEST_F(Hope, of_a_peer_that_was_heard_again_the_kernels_word_counts_after_one_dial) {
  grace_.peer_silent(kThen);
  grace_.peer_heard();
  ASSERT_TRUE(lost(kThen + 7s, true));
  EXPECT_FALSE(waits(kThen + 10s));
}

TEST_F(Hope, a_second_loss_begins_anew) {
  grace_.extend(kThen);
  ASSERT_TRUE(lost(kThen));
  ASSERT_FALSE(waits(kThen + 10s));
  grace_.extend(kThen + 1h);  // lanes came back meanwhile
  ASSERT_TRUE(lost(kThen + 1h + 1s));
  EXPECT_TRUE(waits(kThen + 1h + 9s));
}

// A firewall forgot idle connections: a new one passes.
TEST_F(Hope, an_idle_session_that_the_kernel_ends_is_dialled_once) {
  ASSERT_TRUE(lost(kThen, true));
  EXPECT_TRUE(waits(kThen + 2900ms));
  EXPECT_FALSE(waits(kThen + 3s));
}

TEST_F(Hope, after_a_silence_in_which_it_was_dialled_it_is_not_again) {
  grace_.peer_silent(kThen);
  EXPECT_FALSE(lost(kThen + kGraceTimeout, true));
}

}  // namespace
}  // namespace railweave::engine

#include "engine/health/reconnect_grace.h"

#include <gtest/gtest.h>

namespace railweave::engine {
namespace {

using namespace std::chrono_literals;

constexpr Nanos kGraceTimeout = 10s;
constexpr TimePoint kThen{1h};

Status some_loss() { return Status(Code::remote, Scope::session, "connection to them lost"); }

class ReconnectGraceTest : public testing::Test {
 protected:
  bool lost(TimePoint at, bool unanswered = false, bool leaving = false) {
    return grace_.last_lane_lost(at, unanswered, leaving, some_loss());
  }
  bool waits(TimePoint at) const { return grace_.over(at).ok(); }

  ReconnectGrace grace_{kGraceTimeout};
};

TEST_F(ReconnectGraceTest, without_a_reason_there_is_no_grace) { EXPECT_FALSE(lost(kThen)); }

TEST_F(ReconnectGraceTest, a_session_that_never_lost_a_lane_is_not_over) { EXPECT_TRUE(waits(kThen)); }

TEST_F(ReconnectGraceTest, a_lane_given_up_gives_grace_for_the_peer_timeout_from_then) {
  grace_.extend(kThen);
  ASSERT_TRUE(lost(kThen + 1s));
  EXPECT_TRUE(waits(kThen + 9999ms));
  EXPECT_EQ(grace_.over(kThen + 10s).message(), some_loss().message());
}

TEST_F(ReconnectGraceTest, a_lane_given_up_long_ago_gives_no_grace) {
  grace_.extend(kThen);
  EXPECT_FALSE(lost(kThen + 10s));
}

TEST_F(ReconnectGraceTest, a_reset_gives_grace_for_the_peer_timeout) {
  grace_.lane_reset(kThen, 0);
  ASSERT_TRUE(lost(kThen));
  EXPECT_TRUE(waits(kThen + 9999ms));
  EXPECT_FALSE(waits(kThen + 10s));
}

TEST_F(ReconnectGraceTest, a_reset_of_a_session_that_has_just_begun_gives_grace) {
  grace_.lane_restored(kThen);
  grace_.lane_reset(kThen + 1ms, 0);
  EXPECT_TRUE(lost(kThen + 1ms));
}

TEST_F(ReconnectGraceTest, a_path_that_resets_all_gives_none_after_the_peer_timeout) {
  bool awaited = true;
  TimePoint t = kThen;
  for (; awaited && t < kThen + 1min; t += 1s) {
    grace_.lane_reset(t, 1000);
    awaited = lost(t) && waits(t);
    grace_.lane_restored(t + 100ms);
  }
  EXPECT_EQ(t, kThen + 11s);
}

TEST_F(ReconnectGraceTest, resets_with_a_segment_in_between_each_give_grace) {
  for (int i = 0; i < 60; ++i) {
    grace_.lane_reset(kThen + i * 1s, 1000 + std::uint64_t(i));
    ASSERT_TRUE(lost(kThen + i * 1s)) << i;
    grace_.lane_restored(kThen + i * 1s + 100ms);
  }
}

TEST_F(ReconnectGraceTest, resets_of_lanes_that_lived_for_a_second_each_give_grace) {
  for (int i = 0; i < 60; ++i) {
    grace_.lane_reset(kThen + i * 2s, 1000);
    ASSERT_TRUE(lost(kThen + i * 2s)) << i;
    grace_.lane_restored(kThen + i * 2s + 1s);
  }
}

TEST_F(ReconnectGraceTest, a_dialled_lane_is_awaited_until_no_dial_is_left) {
  grace_.join_began();
  grace_.join_began();
  ASSERT_TRUE(lost(kThen));
  grace_.join_ended();
  EXPECT_TRUE(waits(kThen + 5s));
  grace_.join_ended();
  EXPECT_FALSE(waits(kThen + 5s));
}

TEST_F(ReconnectGraceTest, a_dialled_lane_is_awaited_for_the_peer_timeout_at_most) {
  grace_.join_began();
  ASSERT_TRUE(lost(kThen));
  EXPECT_TRUE(waits(kThen + 9999ms));
  EXPECT_FALSE(waits(kThen + 10s));
}

TEST_F(ReconnectGraceTest, after_a_goodbye_only_a_dialled_lane_counts) {
  grace_.extend(kThen);
  EXPECT_FALSE(lost(kThen, false, true));
  grace_.join_began();
  EXPECT_TRUE(lost(kThen, false, true));
  EXPECT_TRUE(waits(kThen + 1s));
  grace_.join_ended();
  EXPECT_FALSE(waits(kThen + 1s)) << "nobody dials any more";
}

TEST_F(ReconnectGraceTest, a_kernel_that_gives_up_a_silent_peer_does_so_too_soon) {
  grace_.peer_silent(kThen);
  EXPECT_FALSE(lost(kThen + 7s)) << "a reset is no lost patience";
  ASSERT_TRUE(lost(kThen + 7s, true));
  EXPECT_TRUE(waits(kThen + 9999ms));
  EXPECT_FALSE(waits(kThen + 10s)) << "silent since then, not since the kernel said so";
}

TEST_F(ReconnectGraceTest, after_a_silence_is_over_a_lane_that_timed_out_gives_one_dial) {
  grace_.peer_silent(kThen);
  grace_.peer_heard();
  ASSERT_TRUE(lost(kThen + 7s, true));
  EXPECT_FALSE(waits(kThen + 10s));
}

TEST_F(ReconnectGraceTest, a_second_loss_begins_anew) {
  grace_.extend(kThen);
  ASSERT_TRUE(lost(kThen));
  ASSERT_FALSE(waits(kThen + 10s));
  grace_.extend(kThen + 1h);  // lanes came back meanwhile
  ASSERT_TRUE(lost(kThen + 1h + 1s));
  EXPECT_TRUE(waits(kThen + 1h + 9s));
}

// A firewall forgot idle connections: a new connection passes.
TEST_F(ReconnectGraceTest, an_idle_session_that_the_kernel_ends_is_dialled_once) {
  ASSERT_TRUE(lost(kThen, true));
  EXPECT_TRUE(waits(kThen + 2900ms));
  EXPECT_FALSE(waits(kThen + 3s));
}

TEST_F(ReconnectGraceTest, after_a_silence_with_dials_an_idle_session_is_not_dialled) {
  grace_.peer_silent(kThen);
  EXPECT_FALSE(lost(kThen + kGraceTimeout, true));
}

}  // namespace
}  // namespace railweave::engine

#include "protocol/credit_window.h"

#include <gtest/gtest.h>

namespace railweave::protocol {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kBegin{1h};
constexpr std::uint64_t kAny = Credit::kNone;

class CreditWindowTest : public testing::Test {
 protected:
  CreditWindowTest() { window_.observe(kBegin, 0, true); }
  // Data waits from `from` to `until`, and the window is observed every 100 ms.
  void wait(Nanos from, Nanos until, std::uint64_t position = 0) {
    for (Nanos t = from; t < until; t += 100ms) window_.observe(kBegin + t, position, true);
    window_.observe(kBegin + until, position, true);
  }
  CreditWindow window_{{.window_bytes = 16 * KiB}};
};

TEST(CreditWindow, without_a_credit_it_bounds_nothing) {
  const CreditWindow window;
  EXPECT_FALSE(window.bounds());
  EXPECT_EQ(window.room(1 << 30, 1 << 30), kAny);
  EXPECT_FALSE(window.is_held(1 << 30));
}

TEST_F(CreditWindowTest, the_first_credit_stands_until_the_receiver_announces_more) {
  EXPECT_EQ(window_.room(0, 0), 16 * KiB);
  window_.observe(kBegin + 1min, 0, true);
  EXPECT_EQ(window_.room(0, 1 << 30), 16 * KiB);
  window_.apply(1, {});
  EXPECT_EQ(window_.room(1 << 30, 1 << 30), kAny);
}

TEST_F(CreditWindowTest, room__is_a_window_less_what_is_outstanding) {
  EXPECT_EQ(window_.room(6 * KiB, 0), 10 * KiB);
  EXPECT_EQ(window_.room(16 * KiB, 0), 0u);
  EXPECT_EQ(window_.room(17 * KiB, 0), 0u) << "the receiver made it smaller";
}

TEST_F(CreditWindowTest, room__is_a_limit_less_the_position) {
  window_.apply(1, {.limit = 1000});
  EXPECT_EQ(window_.room(1 << 30, 400), 600u);
  for (const std::uint64_t position : {1000, 2000}) EXPECT_EQ(window_.room(0, position), 0u);
}

// The last segment of a turn rarely ends at the limit, so less than 192 bytes of room count as none.
TEST_F(CreditWindowTest, a_lane_is_held_where_the_limit_leaves_no_room_for_a_segment) {
  window_.apply(1, {.limit = 1000});
  EXPECT_FALSE(window_.is_held(0));
  EXPECT_FALSE(window_.is_held(1000 - 192));
  for (const std::uint64_t left : {191, 64, 1, 0}) EXPECT_TRUE(window_.is_held(1000 - left)) << left;
  EXPECT_TRUE(window_.is_held(2000));
}

TEST_F(CreditWindowTest, room__the_smaller_of_window_and_limit_counts) {
  window_.apply(1, {.window_bytes = 500, .limit = 1000});
  EXPECT_EQ(window_.room(0, 0), 500u);
  EXPECT_EQ(window_.room(0, 800), 200u);
}

TEST_F(CreditWindowTest, an_older_statement_and_one_again_are_without_effect) {
  window_.apply(2, {.window_bytes = 2});
  window_.apply(2, {.window_bytes = 22});
  window_.apply(1, {.window_bytes = 1});
  EXPECT_EQ(window_.standing(), (Credit{.window_bytes = 2}));
}

TEST_F(CreditWindowTest, any_value_is_a_bound_and_nothing_else) {
  for (const std::uint64_t value : {0ull, 1ull << 63, ~0ull - 1}) {
    window_ = CreditWindow({.window_bytes = value, .limit = value});
    EXPECT_EQ(window_.room(0, 0), value);
    EXPECT_EQ(window_.room(~0ull, ~0ull), 0u);
  }
}

TEST_F(CreditWindowTest, a_receiver_that_lets_nothing_go_for_a_second_is_overridden) {
  for (const Credit& nothing :
       {Credit{.window_bytes = 0}, Credit{.window_bytes = 191}, Credit{.limit = 0}, Credit{.limit = 291}}) {
    window_ = CreditWindow(nothing);
    window_.observe(kBegin - 1h, 100, false);
    window_.observe(kBegin, 100, false);
    wait(0ms, 999ms, 100);
    EXPECT_LT(window_.room(0, 100), CreditWindow::kLeastBytes);
    window_.observe(kBegin + 1s, 100, true);
    EXPECT_EQ(window_.standing(), (Credit{.window_bytes = 16 * KiB}));
    EXPECT_EQ(window_.room(4 * KiB, 100), 12 * KiB);
    EXPECT_FALSE(window_.is_held(100));
    window_.took();
    EXPECT_LT(window_.room(0, 100), CreditWindow::kLeastBytes) << "for one segment";
    wait(1s, 2s, 100);
    EXPECT_EQ(window_.room(0, 100), 16 * KiB) << "and again";
  }
}

TEST_F(CreditWindowTest, a_receiver_is_not_overridden_for_a_time_without_polls) {
  window_.apply(1, {.window_bytes = 0});
  for (const Nanos later : {0s, 3600s}) {
    wait(later, later + 400ms);
    EXPECT_EQ(window_.standing(), (Credit{.window_bytes = 0})) << "the lane was idle, or this process stood still";
  }
  wait(3600s + 400ms, 3601s);
  EXPECT_EQ(window_.standing(), (Credit{.window_bytes = 16 * KiB}));
}

TEST_F(CreditWindowTest, took__returns_the_first_override_only) {
  constexpr Credit kNothing{.window_bytes = 16 * KiB, .limit = 50};
  EXPECT_FALSE(window_.took()) << "the receiver allowed that";
  window_.apply(1, kNothing);
  wait(0ms, 1500ms, 100);
  const std::optional<CreditWindow::Override> first = window_.took();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->said, kNothing);
  EXPECT_EQ(first->let_nothing_go, 1500ms);
  wait(1500ms, 3s, 100);
  ASSERT_EQ(window_.standing(), (Credit{.window_bytes = 16 * KiB})) << "overridden again";
  EXPECT_FALSE(window_.took());
}

TEST_F(CreditWindowTest, apply__ends_an_override_that_was_not_used) {
  window_.apply(1, {.window_bytes = 0});
  wait(0ms, 1s);
  ASSERT_EQ(window_.standing(), (Credit{.window_bytes = 16 * KiB}));
  window_.apply(2, {.window_bytes = 64 * KiB});
  EXPECT_EQ(window_.standing(), (Credit{.window_bytes = 64 * KiB}));
  EXPECT_FALSE(window_.took());
}

TEST_F(CreditWindowTest, a_window_that_is_used_up_is_not_overridden) {
  window_.observe(kBegin + 1h, 0, true);
  EXPECT_EQ(window_.room(16 * KiB, 0), 0u) << "the receiver's kernel has not acknowledged that";
}

TEST_F(CreditWindowTest, without_credit__is_how_long_data_waited_for_room) {
  window_.observe(kBegin + 1s, 0, true);
  EXPECT_EQ(window_.without_credit(), 0s) << "there was room";
  window_.refuse();
  wait(1100ms, 1300ms);
  EXPECT_EQ(window_.without_credit(), 300ms);
  window_.observe(kBegin + 1h, 0, true);
  EXPECT_EQ(window_.without_credit(), 400ms) << "of a time in which nobody looked 100 ms count";
  window_.took();
  window_.observe(kBegin + 1h + 100ms, 0, true);
  window_.refuse();
  window_.observe(kBegin + 1h + 200ms, 0, false);
  EXPECT_EQ(window_.without_credit(), 400ms) << "nothing waited any more";
}

}  // namespace
}  // namespace railweave::protocol

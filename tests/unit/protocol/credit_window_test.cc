#include "protocol/credit_window.h"

#include <gtest/gtest.h>

namespace railweave::protocol {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kBegin{1h};
constexpr std::uint64_t kAny = Credit::kNone;

class Window : public testing::Test {
 protected:
  Window() { window_.look(kBegin); }
  CreditWindow window_{{.window_bytes = 16 * KiB}};
};

TEST(NoWindow, bounds_nothing) {
  const CreditWindow window;
  EXPECT_FALSE(window.bounds());
  EXPECT_EQ(window.room(1 << 30, 1 << 30), kAny);
  EXPECT_FALSE(window.is_held(1 << 30));
}

TEST_F(Window, the_first_one_stands_until_the_receiver_says_more) {
  EXPECT_EQ(window_.room(0, 0), 16 * KiB);
  window_.look(kBegin + 1min);
  EXPECT_EQ(window_.room(0, 1 << 30), 16 * KiB);
  window_.hear(1, {});
  EXPECT_EQ(window_.room(1 << 30, 1 << 30), kAny);
}

TEST_F(Window, of_a_window_what_is_outstanding_is_taken) {
  EXPECT_EQ(window_.room(6 * KiB, 0), 10 * KiB);
  EXPECT_EQ(window_.room(16 * KiB, 0), 0u);
  EXPECT_EQ(window_.room(17 * KiB, 0), 0u) << "the receiver made it smaller";
}

TEST_F(Window, up_to_a_limit_what_was_taken_is_taken) {
  window_.hear(1, {.limit = 1000});
  EXPECT_EQ(window_.room(1 << 30, 400), 600u);
  EXPECT_FALSE(window_.is_held(999));
  for (const std::uint64_t position : {1000, 2000}) {
    EXPECT_EQ(window_.room(0, position), 0u);
    EXPECT_TRUE(window_.is_held(position));
  }
}

TEST_F(Window, the_smaller_of_both_counts) {
  window_.hear(1, {.window_bytes = 500, .limit = 1000});
  EXPECT_EQ(window_.room(0, 0), 500u);
  EXPECT_EQ(window_.room(0, 800), 200u);
}

TEST_F(Window, an_older_statement_and_one_again_are_without_effect) {
  window_.hear(2, {.window_bytes = 2});
  window_.hear(2, {.window_bytes = 22});
  window_.hear(1, {.window_bytes = 1});
  EXPECT_EQ(window_.standing(), (Credit{.window_bytes = 2}));
}

TEST_F(Window, any_value_is_a_bound_and_nothing_else) {
  for (const std::uint64_t value : {0ull, 1ull << 63, ~0ull - 1}) {
    window_ = CreditWindow({.window_bytes = value, .limit = value});
    EXPECT_EQ(window_.room(0, 0), value);
    EXPECT_EQ(window_.room(~0ull, ~0ull), 0u);
  }
}

TEST_F(Window, a_receiver_that_gives_nothing_for_a_second_is_overridden) {
  for (const Credit& nothing : {Credit{.window_bytes = 0}, Credit{.limit = 0}}) {
    window_ = CreditWindow(nothing);
    window_.look(kBegin);
    window_.look(kBegin + 999ms);
    EXPECT_EQ(window_.room(0, 100), 0u);
    window_.look(kBegin + 1s);
    EXPECT_EQ(window_.room(4 * KiB, 100), 12 * KiB);
    EXPECT_EQ(window_.room(16 * KiB, 100), 0u);
    window_.took();
    EXPECT_EQ(window_.room(0, 100), 0u) << "once";
    window_.look(kBegin + 2s);
    EXPECT_EQ(window_.room(0, 100), 16 * KiB) << "and again";
  }
}

}  // namespace
}  // namespace railweave::protocol

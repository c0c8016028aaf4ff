#include "engine/credit/told_credit.h"

#include <gtest/gtest.h>

namespace railweave::engine {
namespace {

using protocol::Credit;

constexpr Credit kToldFirst{.window_bytes = 16 * KiB};

class Telling : public testing::Test {
 protected:
  // What is said; nothing: no news.
  std::optional<Credit> window(std::uint64_t bytes, bool wire_holds = false) {
    return reported_.news({.window_bytes = bytes}, wire_holds);
  }

  AnnouncedCredit reported_{kToldFirst};
};

constexpr std::optional<Credit> kNoNews;

TEST_F(Telling, news__what_the_peer_takes_for_granted_is_none) {
  EXPECT_EQ(reported_.news(kToldFirst, false), kNoNews);
}

TEST_F(Telling, news__a_window_is_news_that_grew_by_more_than_a_quarter) {
  EXPECT_EQ(window(20 * KiB), kNoNews);
  EXPECT_EQ(window(20 * KiB + 1), (Credit{.window_bytes = 20 * KiB + 1}));
  EXPECT_EQ(window(20 * KiB + 1), kNoNews) << "said already";
}

TEST_F(Telling, news__or_that_is_a_quarter_smaller_than_the_one_told) {
  EXPECT_EQ(window(13'108), kNoNews);
  EXPECT_EQ(window(13'106), (Credit{.window_bytes = 13'106}));
}

TEST_F(Telling, news__small_steps_are_compared_with_what_was_told_last) {
  for (std::uint64_t bytes = 16 * KiB; bytes <= 20 * KiB; bytes += KiB) EXPECT_EQ(window(bytes), kNoNews) << bytes;
  EXPECT_EQ(window(21 * KiB), (Credit{.window_bytes = 21 * KiB}));
  EXPECT_EQ(window(26 * KiB), kNoNews);
}

TEST_F(Telling, news__a_limit_always_is_with_the_window_that_stands_beside_it) {
  EXPECT_EQ(reported_.news({.window_bytes = 16 * KiB, .limit = 100}, false),
            (Credit{.window_bytes = 16 * KiB, .limit = 100}));
  EXPECT_EQ(reported_.news({.window_bytes = 16 * KiB, .limit = 100}, false), kNoNews);
  EXPECT_EQ(reported_.news({.window_bytes = 17 * KiB, .limit = 101}, false),
            (Credit{.window_bytes = 17 * KiB, .limit = 101}));
  EXPECT_EQ(reported_.news({.window_bytes = 17 * KiB}, false), (Credit{.window_bytes = 17 * KiB}))
      << "no limit any more";
}

TEST_F(Telling, news__that_there_is_no_bound_any_more_and_that_there_is_one_again) {
  EXPECT_EQ(window(Credit::kNone), Credit());
  EXPECT_EQ(window(Credit::kNone), kNoNews);
  EXPECT_EQ(window(std::uint64_t{1} << 62), (Credit{.window_bytes = std::uint64_t{1} << 62}));
}

TEST_F(Telling, news__behind_a_wire_that_holds_the_peer_may_have_as_much_again_ready) {
  EXPECT_EQ(window(64 * KiB, true), (Credit{.window_bytes = 128 * KiB}));
  EXPECT_EQ(window(80 * KiB, true), kNoNews) << "160 are a quarter more than 128";
  EXPECT_EQ(window(80 * KiB + 1, true), (Credit{.window_bytes = 160 * KiB + 2}));
}

TEST_F(Telling, news__which_is_32_KiB_at_least) {
  EXPECT_EQ(window(8 * KiB, true), (Credit{.window_bytes = 40 * KiB}));
  EXPECT_EQ(window(16 * KiB, true), kNoNews) << "48 KiB are less than a quarter more";
}

TEST_F(Telling, news__of_a_wire_that_held_and_does_no_more) {
  EXPECT_EQ(window(64 * KiB, true), (Credit{.window_bytes = 128 * KiB}));
  EXPECT_EQ(window(64 * KiB), (Credit{.window_bytes = 64 * KiB}));
}

TEST_F(Telling, news__no_bound_stays_none_behind_a_wire_that_holds) {
  EXPECT_EQ(window(Credit::kNone, true), Credit());
}

TEST_F(Telling, news__the_wire_adds_nothing_to_the_limit) {
  EXPECT_EQ(reported_.news({.window_bytes = 8 * KiB, .limit = 100}, true),
            (Credit{.window_bytes = 40 * KiB, .limit = 100}));
}

}  // namespace
}  // namespace railweave::engine

#include "engine/credit/announced_credit.h"

#include <gtest/gtest.h>

namespace railweave::engine {
namespace {

using protocol::Credit;

constexpr Credit kToldFirst{.window_bytes = 16 * KiB};

class AnnouncedCreditTest : public testing::Test {
 protected:
  // Returns the credit to announce; none: nothing to announce.
  std::optional<Credit> window(std::uint64_t bytes, bool wire_holds = false) {
    return announced_.news({.window_bytes = bytes}, wire_holds);
  }

  AnnouncedCredit announced_{kToldFirst};
};

constexpr std::optional<Credit> kNoNews;

TEST_F(AnnouncedCreditTest, news__the_credit_that_the_peer_assumes_is_none) {
  EXPECT_EQ(announced_.news(kToldFirst, false), kNoNews);
}

TEST_F(AnnouncedCreditTest, news__a_window_larger_by_over_a_quarter_is_announced) {
  EXPECT_EQ(window(20 * KiB), kNoNews);
  EXPECT_EQ(window(20 * KiB + 1), (Credit{.window_bytes = 20 * KiB + 1}));
  EXPECT_EQ(window(20 * KiB + 1), kNoNews) << "said already";
}

TEST_F(AnnouncedCreditTest, news__a_window_smaller_by_over_a_fifth_is_announced) {
  EXPECT_EQ(window(13'108), kNoNews);
  EXPECT_EQ(window(13'106), (Credit{.window_bytes = 13'106}));
}

TEST_F(AnnouncedCreditTest, news__small_steps_are_compared_with_the_last_announcement) {
  for (std::uint64_t bytes = 16 * KiB; bytes <= 20 * KiB; bytes += KiB) EXPECT_EQ(window(bytes), kNoNews) << bytes;
  EXPECT_EQ(window(21 * KiB), (Credit{.window_bytes = 21 * KiB}));
  EXPECT_EQ(window(26 * KiB), kNoNews);
}

TEST_F(AnnouncedCreditTest, news__a_new_limit_is_announced_with_its_window) {
  EXPECT_EQ(announced_.news({.window_bytes = 16 * KiB, .limit = 100}, false),
            (Credit{.window_bytes = 16 * KiB, .limit = 100}));
  EXPECT_EQ(announced_.news({.window_bytes = 16 * KiB, .limit = 100}, false), kNoNews);
  EXPECT_EQ(announced_.news({.window_bytes = 17 * KiB, .limit = 101}, false),
            (Credit{.window_bytes = 17 * KiB, .limit = 101}));
  EXPECT_EQ(announced_.news({.window_bytes = 17 * KiB}, false), (Credit{.window_bytes = 17 * KiB}))
      << "no limit any more";
}

TEST_F(AnnouncedCreditTest, news__the_end_of_a_bound_and_a_new_bound_are_announced) {
  EXPECT_EQ(window(Credit::kNone), Credit());
  EXPECT_EQ(window(Credit::kNone), kNoNews);
  EXPECT_EQ(window(std::uint64_t{1} << 62), (Credit{.window_bytes = std::uint64_t{1} << 62}));
}

TEST_F(AnnouncedCreditTest, news__a_wire_that_holds_doubles_the_window) {
  EXPECT_EQ(window(64 * KiB, true), (Credit{.window_bytes = 128 * KiB}));
  EXPECT_EQ(window(80 * KiB, true), kNoNews) << "160 are a quarter more than 128";
  EXPECT_EQ(window(80 * KiB + 1, true), (Credit{.window_bytes = 160 * KiB + 2}));
}

TEST_F(AnnouncedCreditTest, news__a_wire_that_holds_adds_32_KiB_at_least) {
  EXPECT_EQ(window(8 * KiB, true), (Credit{.window_bytes = 40 * KiB}));
  EXPECT_EQ(window(16 * KiB, true), kNoNews) << "48 KiB are less than a quarter more";
}

TEST_F(AnnouncedCreditTest, news__a_wire_that_no_longer_holds_is_announced) {
  EXPECT_EQ(window(64 * KiB, true), (Credit{.window_bytes = 128 * KiB}));
  EXPECT_EQ(window(64 * KiB), (Credit{.window_bytes = 64 * KiB}));
}

TEST_F(AnnouncedCreditTest, news__no_bound_stays_none_behind_a_wire_that_holds) {
  EXPECT_EQ(window(Credit::kNone, true), Credit());
}

TEST_F(AnnouncedCreditTest, news__the_wire_adds_nothing_to_the_limit) {
  EXPECT_EQ(announced_.news({.window_bytes = 8 * KiB, .limit = 100}, true),
            (Credit{.window_bytes = 40 * KiB, .limit = 100}));
}

}  // namespace
}  // namespace railweave::engine

#include "engine/reconcile/join_failures.h"

#include <gtest/gtest.h>

namespace railweave::engine {
namespace {

TEST(JoinFailures, the_pair_that_was_tried_first_speaks_for_its_rails) {
  JoinFailures failures;
  EXPECT_EQ(failures.of_ours(1), nullptr);
  failures.failed({1, 1}, "no answer");
  failures.failed({1, 0}, "refused");
  failures.failed({1, 1}, "no route");
  ASSERT_NE(failures.of_ours(1), nullptr);
  EXPECT_EQ(failures.of_ours(1)->rails, (RailPair{1, 1}));
  EXPECT_EQ(failures.of_ours(1)->tries, 2);
  EXPECT_EQ(failures.of_ours(1)->why, "no route") << "the last cause";
  EXPECT_EQ(failures.of_peers(0)->why, "refused");
  EXPECT_EQ(failures.of_ours(0), nullptr);
}

TEST(JoinFailures, a_pair_that_came_up_is_forgotten) {
  JoinFailures failures;
  failures.failed({1, 1}, "no answer", true);
  EXPECT_TRUE(failures.of_peers(1)->logged);
  EXPECT_TRUE(failures.knows({1, 1}));
  EXPECT_FALSE(failures.knows({1, 0}));
  failures.came_up({1, 1});
  EXPECT_FALSE(failures.knows({1, 1}));
  EXPECT_EQ(failures.of_peers(1), nullptr);
}

TEST(JoinFailures, a_likelier_pair_speaks_before_one_that_was_tried_first) {
  JoinFailures failures;
  failures.failed({1, 0}, "a backup pair");
  failures.failed({1, 1}, "its own");
  EXPECT_EQ(failures.of_ours(1)->why, "a backup pair");
  EXPECT_EQ(failures.of_ours(1, {{0, 0}, {1, 1}})->why, "its own");
  EXPECT_EQ(failures.of_ours(1, {{0, 0}})->why, "a backup pair");
}

TEST(JoinFailures, a_link_local_address_speaks_where_no_other_does) {
  JoinFailures failures;
  failures.failed_by_link_local({0, 0}, "by a link-local address");
  EXPECT_EQ(failures.of_ours(0)->why, "by a link-local address");
  failures.failed({0, 0}, "refused");
  failures.failed_by_link_local({0, 0}, "by a link-local address");
  EXPECT_EQ(failures.of_ours(0)->why, "refused");
  EXPECT_EQ(failures.of_ours(0)->tries, 3);
}

}  // namespace
}  // namespace railweave::engine

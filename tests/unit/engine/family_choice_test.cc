#include "engine/reconcile/family_choice.h"

#include <gtest/gtest.h>

namespace railweave::engine {
namespace {

using enum Address::Family;

constexpr RailPair kPair{1, 1}, kOther{0, 1};

TEST(FamilyChoice, after_a_failure_the_other_family_has_its_turn_and_so_on) {
  FamilyChoice choice;
  EXPECT_FALSE(choice.avoided(kPair));
  choice.failed(kPair, v4);
  EXPECT_EQ(choice.avoided(kPair), v4);
  choice.failed(kPair, v6);
  EXPECT_EQ(choice.avoided(kPair), v6);
  choice.failed(kPair, v4);
  EXPECT_EQ(choice.avoided(kPair), v4);
}

TEST(FamilyChoice, the_family_that_came_up_is_dialled_again_after_a_loss) {
  FamilyChoice choice;
  choice.failed(kPair, v4);  // then IPv6 came up
  EXPECT_EQ(choice.avoided(kPair), v4) << "dialled by IPv6 again after a loss";
}

TEST(FamilyChoice, a_family_is_doubtful_where_only_the_other_one_carried) {
  FamilyChoice choice;
  EXPECT_FALSE(choice.is_doubtful(kPair, v4)) << "neither did";
  choice.came_up(kPair, v6);
  EXPECT_TRUE(choice.is_doubtful(kPair, v4));
  EXPECT_FALSE(choice.is_doubtful(kPair, v6));
  EXPECT_FALSE(choice.is_doubtful(kOther, v4));
  choice.came_up(kPair, v4);
  EXPECT_FALSE(choice.is_doubtful(kPair, v4));
}

TEST(FamilyChoice, where_there_is_one_family_only_it_may_be_tried_for_ever) {
  FamilyChoice choice;
  for (int i = 0; i < 3; ++i) choice.failed(kPair, v4);
  EXPECT_EQ(choice.avoided(kPair), v4);
}

TEST(FamilyChoice, forget__those_pairs_begin_anew_and_no_others) {
  FamilyChoice choice;
  choice.failed(kPair, v4);
  choice.failed(kOther, v4);
  choice.came_up(kPair, v6);
  choice.forget([](const RailPair& pair) { return pair.local == 1; });
  EXPECT_FALSE(choice.avoided(kPair));
  EXPECT_FALSE(choice.is_doubtful(kPair, v4));
  EXPECT_EQ(choice.avoided(kOther), v4);
}

}  // namespace
}  // namespace railweave::engine

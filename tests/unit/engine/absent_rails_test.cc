#include "engine/absent_rails.h"

#include <gtest/gtest.h>

namespace railweave::engine {
namespace {

TEST(AbsenceTold, each_rail_of_ours_once_and_few_of_all_peers) {
  AbsenceTold told;
  EXPECT_TRUE(told.ours(63));
  EXPECT_FALSE(told.ours(63));
  EXPECT_TRUE(told.ours(0));
  int times = 0;
  for (int i = 0; i < 100; ++i) times += told.peers();
  EXPECT_EQ(times, 4);
}

}  // namespace
}  // namespace railweave::engine

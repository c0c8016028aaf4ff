#include "engine/rails/absent_rails.h"

#include <gtest/gtest.h>

#include "engine/rails/logged_absences.h"

namespace railweave::engine {
namespace {

TEST(LoggedAbsences, each_rail_of_ours_once_and_few_of_all_peers) {
  LoggedAbsences logged;
  EXPECT_TRUE(logged.may_log_ours(63));
  EXPECT_FALSE(logged.may_log_ours(63));
  EXPECT_TRUE(logged.may_log_ours(0));
  int times = 0;
  for (int i = 0; i < 100; ++i) times += logged.may_log_peers();
  EXPECT_EQ(times, 4);
}

}  // namespace
}  // namespace railweave::engine

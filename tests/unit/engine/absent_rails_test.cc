#include "engine/rails/absent_rails.h"

#include <gtest/gtest.h>

#include "engine/rails/rail_log.h"

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

// An event that concerns every peer is no flood.
TEST(RailLines, may_warn__of_a_few_peers_for_each_event) {
  RailLines lines;
  const auto times = [&](int rail, RailLines::About about, TimePoint t) {
    int warned = 0;
    for (int i = 0; i < 500; ++i) warned += lines.may_warn(rail, about, t);
    return warned;
  };
  const TimePoint t{std::chrono::hours(1)};
  EXPECT_EQ(times(0, RailLines::About::loss, t), 4);
  EXPECT_EQ(times(0, RailLines::About::comeback, t), 4);
  EXPECT_EQ(times(1, RailLines::About::loss, t), 4);
  EXPECT_EQ(times(0, RailLines::About::loss, t + RailLines::kWindow / 2), 0);
  EXPECT_EQ(times(0, RailLines::About::loss, t + RailLines::kWindow), 4);
}

}  // namespace
}  // namespace railweave::engine

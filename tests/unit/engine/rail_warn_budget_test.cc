#include "engine/rails/rail_warn_budget.h"

#include <gtest/gtest.h>

namespace railweave::engine {
namespace {

// An event concerns every peer, and only a few peers are named at WARN.
TEST(RailWarnBudget, may_warn__of_a_few_peers_for_each_event) {
  RailWarnBudget budget;
  const auto times = [&](int rail, RailWarnBudget::About about, TimePoint t) {
    int warned = 0;
    for (int i = 0; i < 500; ++i) warned += budget.may_warn(rail, about, t);
    return warned;
  };
  const TimePoint t{std::chrono::hours(1)};
  EXPECT_EQ(times(0, RailWarnBudget::About::loss, t), 4);
  EXPECT_EQ(times(0, RailWarnBudget::About::comeback, t), 4);
  EXPECT_EQ(times(1, RailWarnBudget::About::loss, t), 4);
  EXPECT_EQ(times(0, RailWarnBudget::About::loss, t + RailWarnBudget::kWindow / 2), 0);
  EXPECT_EQ(times(0, RailWarnBudget::About::loss, t + RailWarnBudget::kWindow), 4);
}

}  // namespace
}  // namespace railweave::engine

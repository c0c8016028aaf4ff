#include "engine/rails/absence_times.h"

#include <gtest/gtest.h>

namespace railweave::engine {
namespace {

using namespace std::chrono_literals;

class AbsenceTimesTest : public testing::Test {
 protected:
  TimePoint at(Nanos time) const { return begin_ + time; }

  const TimePoint begin_{1h};
  AbsenceTimes times_{8s};
};

TEST_F(AbsenceTimesTest, is_due__eight_seconds_after_a_rail_was_seen_absent) {
  times_.see(at(0s), {true, true});
  times_.see(at(1s), {false, false});
  EXPECT_EQ(times_.next(at(1s)), std::nullopt);
  times_.see(at(7900ms), {false, true});
  EXPECT_FALSE(times_.is_due(1, at(8s)));
  EXPECT_EQ(times_.next(at(8s)), at(15900ms));
  EXPECT_TRUE(times_.is_due(1, at(15900ms)));
  EXPECT_FALSE(times_.is_due(0, at(15900ms)));
}

TEST_F(AbsenceTimesTest, next__a_rail_that_was_due_and_not_logged_comes_again) {
  times_.see(at(0s), {true});
  EXPECT_TRUE(times_.is_due(0, at(8s)));
  EXPECT_EQ(times_.next(at(8s)), at(16s));
  times_.logged(0);
  EXPECT_FALSE(times_.is_due(0, at(16s)));
  EXPECT_EQ(times_.next(at(16s)), std::nullopt);
}

TEST_F(AbsenceTimesTest, is_due__a_logged_rail_is_due_again_after_it_had_a_lane) {
  times_.see(at(0s), {true});
  times_.logged(0);
  times_.see(at(9s), {false});
  times_.see(at(10s), {true});
  EXPECT_FALSE(times_.is_due(0, at(17s)));
  EXPECT_TRUE(times_.is_due(0, at(18s)));
}

TEST_F(AbsenceTimesTest, a_rail_that_comes_later_has_its_own_time) {
  times_.see(at(0s), {false});
  times_.see(at(5s), {false, true});
  EXPECT_EQ(times_.next(at(5s)), at(13s));
}

}  // namespace
}  // namespace railweave::engine

#include "tests/unit/engine/known_pairs.h"

namespace railweave::engine {
namespace {

using namespace std::chrono_literals;

class BackupPairs : public RailPairsTest {
 protected:
  void SetUp() override {
    know(2, 2, 1);
    begin();
    settle();
    t_ += 20s;
    lose({1, 1});
    settle();
    t_ += 100ms;
    settle();
    ASSERT_EQ(open_.size(), 4u) << "both primary pairs, and two backup pairs";
  }
  const std::vector<Surplus> both_{{{0, 1}, 0}, {{1, 0}, 0}};
};

TEST_F(BackupPairs, retire_once_the_primary_pairs_of_both_rails_are_steady) {
  EXPECT_EQ(pairs_.surplus(t_), std::vector<Surplus>());
  EXPECT_EQ(pairs_.next_change(t_), t_ + 2s);
  t_ += 2s;
  EXPECT_EQ(pairs_.surplus(t_), both_);
  std::erase(open_, RailPair{1, 0});
  poll();
  EXPECT_FALSE(pairs_.find({1, 0})->backoff.is_on(t_)) << "that was in good order";
  EXPECT_EQ(told(pairs_.due(t_)), "");
  EXPECT_EQ(pairs_.surplus(t_), std::vector<Surplus>({{{0, 1}, 0}}));
}

TEST_F(BackupPairs, serve_again_when_a_primary_pair_is_lost) {
  t_ += 2s;
  ASSERT_EQ(pairs_.surplus(t_), both_);
  lose({1, 1});
  EXPECT_EQ(pairs_.surplus(t_), std::vector<Surplus>());
}

TEST_F(BackupPairs, that_do_not_end_in_time_serve_again_and_retire_later) {
  t_ += 2s;
  ASSERT_EQ(pairs_.surplus(t_), both_);
  t_ = pairs_.next_change(t_);
  EXPECT_EQ(pairs_.surplus(t_), std::vector<Surplus>());
  t_ = pairs_.next_change(t_);
  EXPECT_EQ(pairs_.surplus(t_), both_);
}

// Lanes that their pair has too many of, for example because rail 0 of the peer took a lane dialled to rail 1.
class SurplusLanes : public RailPairsTest {};

TEST_F(SurplusLanes, a_lane_taken_by_a_rail_that_has_its_own_is_surplus) {
  know(2, 2, 1);
  begin();
  open_.push_back({0, 0});
  pairs_.came_up(*pairs_.find({0, 0}), t_);
  poll();
  EXPECT_EQ(pairs_.surplus(t_), std::vector<Surplus>({{{0, 0}, 1}}));
}

TEST_F(SurplusLanes, a_rail_that_comes_later_makes_its_backup_pair_retire) {
  know(1, 2, 1);
  begin();
  settle();
  ASSERT_EQ(lanes_of({0, 1}), 1);
  know(2, 2, 1);
  EXPECT_EQ(told(pairs_.due(t_)), "1-1 ");
  settle();
  t_ += 2s;
  EXPECT_EQ(pairs_.surplus(t_), std::vector<Surplus>({{{0, 1}, 0}}));
}

}  // namespace
}  // namespace railweave::engine

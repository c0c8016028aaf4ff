#include "tests/unit/engine/known_pairs.h"

#include <algorithm>
#include <random>

namespace railweave::engine {
namespace {

using namespace std::chrono_literals;

// RailPairs: whether a rail is to blame for the losses of its pairs, and the backoff of the rail (RailBackoff).
class BlamedRails : public RailPairsTest {};

TEST_F(BlamedRails, the_first_backup_pair_is_tried_at_once_before_the_backoff) {
  know(4, 4, 1);
  begin();
  settle();
  t_ += 20s;
  lose({1, 1});
  EXPECT_EQ(told(pairs_.due(t_)), "0-1 1-0 ");
  try_all(pairs_.due(t_), [](const RailPair& rails) { return rails.remote != 1; });
  EXPECT_EQ(told(pairs_.due(t_)), "") << "rail 1 of the peer failed twice";
  t_ += 100ms;
  EXPECT_EQ(told(pairs_.due(t_)), "1-1 ");
  fail({1, 1});
  t_ += 100ms;
  EXPECT_EQ(told(pairs_.due(t_)), "");
}

TEST_F(BlamedRails, backup_pairs_of_a_failing_rail_take_turns) {
  know(4, 4, 1);
  begin();
  settle();
  t_ += 20s;
  lose({1, 1});
  try_all(pairs_.due(t_), [](const RailPair& rails) { return rails.remote != 1; });
  t_ += 100ms;
  fail({1, 1});
  t_ += 200ms;
  ASSERT_EQ(told(pairs_.due(t_)), "1-1 ");
  pairs_.try_began(*pairs_.find({1, 1}), t_);
  EXPECT_EQ(told(pairs_.due(t_)), "2-1 ") << "which was not tried yet, while 1-1 takes its time";
  pairs_.try_began(*pairs_.find({2, 1}), t_);
  EXPECT_EQ(told(pairs_.due(t_)), "");
  pairs_.try_ended(*pairs_.find({1, 1}), t_ += 3s);
  pairs_.failed(*pairs_.find({1, 1}), t_);
  EXPECT_EQ(told(pairs_.due(t_)), "") << "2-1 takes its time";
  t_ += 400ms;
  EXPECT_EQ(told(pairs_.due(t_)), "1-1 ") << "though 2-1 does";
  pairs_.try_ended(*pairs_.find({2, 1}), t_);
  pairs_.failed(*pairs_.find({2, 1}), t_);
  pairs_.try_began(*pairs_.find({1, 1}), t_);
  EXPECT_EQ(told(pairs_.due(t_)), "") << "the rail rests";
  t_ += 800ms;
  EXPECT_EQ(told(pairs_.due(t_)), "3-1 ");
}

// A firewall blocks pair 1-1 for a few seconds. Each rail has a subnet of its own, so backup pairs have no route and
// fail at once. Each rail 1 has one backup pair, tried at times of its own.
TEST_F(BlamedRails, failed_backup_pairs_do_not_delay_a_rail_that_recovered) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    chance_ = [random = std::minstd_rand(seed)]() mutable { return int(random() % 256); };
    open_.clear();
    know(2, 2, 1);
    begin();
    settle();
    t_ += 1s;
    lose({1, 1});
    const TimePoint well = t_ + 2400ms + 100ms * (seed % 30);
    for (; lanes_of({1, 1}) == 0 && t_ < well + 10s; t_ += 1ms) {
      poll();
      try_all(pairs_.due(t_), [&](const RailPair& rails) { return rails == RailPair{1, 1} && t_ >= well; });
    }
    EXPECT_LE(t_, well + 2600ms);
    t_ += 20s;
  }
}

// A lane that has just come back may be slow only for a moment, for example if its first packets were lost.
TEST_F(BlamedRails, a_restored_lane_that_is_slow_is_tried_again_after_a_second) {
  know(2, 2, 1);
  begin();
  settle();
  t_ += 1s;
  lose({1, 1});
  t_ += 2s;
  try_all(pairs_.due(t_), [](const RailPair& rails) { return rails == RailPair{1, 1}; });
  t_ += 500ms;
  std::erase(open_, RailPair{1, 1});
  pairs_.see_lanes(open_, {{1, 1}}, t_);
  t_ += 1300ms;
  EXPECT_NE(told(pairs_.due(t_)).find("1-1 "), std::string::npos);
}

// All lanes over rail 1 of the peer come up and are lost a second later, as if its path dropped large packets.
class FlappingRail : public BlamedRails, public testing::WithParamInterface<int> {
 protected:
  // Lets `time` pass. Returns how many lanes over rail 1 of the peer came up.
  int live(Nanos time) {
    int ever = 0;
    for (const TimePoint end = t_ + time; t_ < end; t_ += 50ms) {
      std::erase_if(dying_, [&](const auto& lane) {
        if (lane.second > t_) return false;
        open_.erase(std::ranges::find(open_, lane.first));
        return true;
      });
      poll();
      try_all(pairs_.due(t_), [&](const RailPair& rails) {
        if (rails.remote == 1) ++ever, dying_.emplace_back(rails, t_ + 1100ms);
        return true;
      });
      for (const Surplus& surplus : pairs_.surplus(t_)) std::erase(open_, surplus.rails);
    }
    return ever;
  }
  std::vector<std::pair<RailPair, TimePoint>> dying_;
};

TEST_P(FlappingRail, few_lanes_come_up_whatever_the_number_of_partners) {
  know(GetParam(), GetParam(), 2);
  begin();
  settle();
  t_ += 20s;
  std::erase(open_, RailPair{1, 1});
  const int first = live(1min), second = live(1min), third = live(1min);
  EXPECT_LE(first, 14);
  EXPECT_LE(second, 4);
  EXPECT_LE(third, 4);
  for (int rail = 0; rail < GetParam(); ++rail)
    EXPECT_EQ(std::ranges::count(open_, rail, &RailPair::local) > 0, true) << "each of our rails carries: " << rail;
}

INSTANTIATE_TEST_SUITE_P(Partners, FlappingRail, testing::Values(2, 4, 12));

TEST_F(BlamedRails, a_rail_that_flapped_has_one_lane_until_that_is_steady) {
  know(2, 2, 4);
  begin();
  settle();
  const auto all_come_up = [](const RailPair&) { return true; };
  for (int i = 0; i < 3; ++i) {
    std::erase_if(open_, [](const RailPair& rails) { return rails.remote == 1; });
    poll();
    while (pairs_.due(t_).empty()) t_ = pairs_.next_change(t_);
    for (int k = 0; k < 3; ++k) try_all(pairs_.due(t_), all_come_up);
  }
  EXPECT_EQ(std::ranges::count(open_, 1, &RailPair::remote), 1);
  t_ += 2s;
  for (int i = 0; i < 3; ++i) try_all(pairs_.due(t_), all_come_up);
  EXPECT_EQ(lanes_of({1, 1}), 4);
}

TEST_F(BlamedRails, a_link_that_is_up_ends_the_backoff_of_its_rail) {
  know(2, 2, 1);
  begin();
  settle();
  lose({1, 1});
  try_all(pairs_.due(t_), [](const RailPair& rails) { return rails.local == 1; });
  ASSERT_EQ(told(pairs_.due(t_)), "") << "0-1 failed, 1-0 is up";
  pairs_.wake_remote(1);
  EXPECT_EQ(told(pairs_.due(t_)), "1-1 ");
  fail({1, 1});
  EXPECT_EQ(told(pairs_.due(t_)), "0-1 ") << "as after a first loss";
}

TEST_F(BlamedRails, without_any_lane_no_rail_is_to_blame) {
  know(2, 2, 1);
  begin();
  settle();
  for (int i = 0; i < 4; ++i) {
    open_.clear();
    poll();
    t_ += 100ms;
    pairs_.wake_local(0), pairs_.wake_local(1);
    EXPECT_EQ(pairs_.due(t_).size(), 2u);
    try_all(pairs_.due(t_), [](const RailPair&) { return true; });
  }
}

}  // namespace
}  // namespace railweave::engine

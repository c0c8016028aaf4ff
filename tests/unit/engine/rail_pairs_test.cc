#include "tests/unit/engine/known_pairs.h"

#include <map>

namespace railweave::engine {
namespace {

using namespace std::chrono_literals;

// ------------------------------------------------------------------------------------------------------------ the plan

TEST_F(RailPairsTest, due__nothing_by_a_rail_that_the_peer_says_has_no_link) {
  know(2, 2, 1);
  begin();
  peers_links_down_ = {1};
  EXPECT_EQ(told(pairs_.due(t_)), "1-0 ") << "the other rail of ours stands by the peer's living one";
  peers_links_down_.clear();
  EXPECT_EQ(told(pairs_.due(t_)), "1-1 ");
}

TEST_F(RailPairsTest, first_lanes_come_before_second_ones) {
  know(3, 3, 2);
  begin();
  EXPECT_EQ(told(pairs_.due(t_)), "1-1 2-2 0-0 1-1 2-2 ");
}

TEST_F(RailPairsTest, all_have_their_share_where_not_all_have_room) {
  know(8, 8, 16);
  begin();
  settle();
  for (int rail = 0; rail < 8; ++rail) EXPECT_EQ(lanes_of({rail, rail}), 8) << rail;
}

TEST_F(RailPairsTest, of_a_pair_that_failed_one_lane_is_tried) {
  know(2, 2, 4);
  begin();
  try_all(pairs_.due(t_), [](const RailPair& rails) { return rails.local == 0; });
  EXPECT_EQ(told(pairs_.due(t_)), "0-1 1-0 ") << "it backs off, and backup pairs carry";
  t_ += 1s;
  EXPECT_EQ(told(pairs_.due(t_)), "1-1 ");
}

TEST_F(RailPairsTest, a_backup_pair_has_one_lane_where_one_of_its_rails_carries) {
  know(2, 2, 4);
  begin();
  settle();
  lose({1, 1});
  EXPECT_EQ(told(pairs_.due(t_)), "0-1 1-0 ") << "while their own pair rests";
}

TEST_F(RailPairsTest, a_backup_pair_for_all_has_all_lanes) {
  know(2, 2, 3);
  begin();
  settle();
  lose({0, 0});
  lose({1, 1});
  EXPECT_EQ(told(pairs_.due(t_)), "0-1 1-0 0-1 0-1 1-0 1-0 ");
}

// The rails of the two ends differ in speed: the primary pairs have fewer lanes than a backup pair.
TEST_F(RailPairsTest, a_backup_pair_has_as_many_lanes_as_its_rails_want) {
  pairs_.know({{{0, 0}, 1}, {{1, 1}, 1}, {{0, 1}, 4}, {{1, 0}, 1}}, 2, 2);
  begin();
  settle();
  lose({0, 0});
  lose({1, 1});
  EXPECT_EQ(told(pairs_.due(t_)), "0-1 1-0 0-1 0-1 0-1 ");
}

TEST_F(RailPairsTest, a_primary_pair_comes_back_though_backup_pairs_carry) {
  know(2, 2, 1);
  begin();
  settle();
  lose({1, 1});
  settle();
  ASSERT_EQ(lanes_of({0, 1}) + lanes_of({1, 0}), 2);
  t_ += 1s;
  EXPECT_EQ(told(pairs_.due(t_)), "1-1 ");
}

TEST_F(RailPairsTest, backup_pairs_have_less_room) {
  know(2, 2, 2);
  begin();
  settle();
  lose({1, 1});
  ASSERT_EQ(pairs_.due(t_).size(), 2u);
  for (const auto& due : pairs_.due(t_)) EXPECT_LT(due.room, kPlacesMax);
  t_ += 1s;
  ASSERT_EQ(told(pairs_.due(t_)), "1-1 1-1 ");
  EXPECT_EQ(pairs_.due(t_)[0].room, kPlacesMax);
  EXPECT_LT(pairs_.due(t_)[1].room, kPlacesMax);
}

TEST_F(RailPairsTest, no_pair_is_dialled_whose_rail_has_no_link) {
  know(2, 2, 1);
  begin();
  links_down_ = {1};
  EXPECT_EQ(told(pairs_.due(t_)), "0-1 ");
}

// A pair keeps its address in memory while its rails have no addresses, because dials under way refer to it.
TEST_F(RailPairsTest, pairs_without_a_way_any_more_are_known_and_not_dialled) {
  know(2, 2, 1);
  begin();
  RailPairs::Pair* const before = pairs_.find({1, 1});
  pairs_.know({{{0, 0}, 1}}, 2, 2);
  EXPECT_EQ(pairs_.find({1, 1}), before);
  EXPECT_EQ(told(pairs_.due(t_)), "");
  know(2, 2, 1);
  EXPECT_EQ(told(pairs_.due(t_)), "1-1 ");
}

// An unknown rail of the peer took the lane, before the peer announced this rail.
TEST_F(RailPairsTest, a_pair_whose_lane_came_before_its_rail_was_known_carried) {
  know(1, 1, 1);
  begin();
  open_.push_back({0, 1});
  poll();
  know(1, 2, 1);
  EXPECT_FALSE(pairs_.find({0, 1})->carried());
  poll();
  EXPECT_TRUE(pairs_.find({0, 1})->carried());
  lose({0, 1});
  EXPECT_TRUE(pairs_.find({0, 1})->promises());
}

// ------------------------------------------------------------------------------------------------------------- backoff

TEST_F(RailPairsTest, a_pair_lost_again_soon_doubles_its_backoff_and_is_named_once) {
  know(1, 1, 1);
  begin();
  for (const Nanos rest : {100ms, 200ms, 400ms, 800ms, 1600ms, 3200ms, 6400ms}) {
    lose({0, 0});
    EXPECT_EQ(pairs_.next_change(t_), t_ + rest);
    EXPECT_TRUE(pairs_.due(t_).empty());
    t_ += rest;
    try_all(pairs_.due(t_), [](const RailPair&) { return true; });
  }
  EXPECT_EQ(named_, 1);
  t_ += 10s;
  lose({0, 0});
  EXPECT_EQ(pairs_.next_change(t_), t_ + 100ms) << "it lived for long";
}

TEST_F(RailPairsTest, tries_that_failed_are_no_flapping) {
  know(1, 1, 1);
  begin();
  lose({0, 0});
  for (int i = 0; i < 10; ++i) {
    t_ = pairs_.next_change(t_);
    try_all(pairs_.due(t_), [](const RailPair&) { return false; });
    EXPECT_LE(pairs_.next_change(t_) - t_, 2s);
  }
  t_ = pairs_.next_change(t_);
  try_all(pairs_.due(t_), [](const RailPair&) { return true; });
  lose({0, 0});
  EXPECT_EQ(pairs_.next_change(t_), t_ + 200ms);
}

TEST_F(RailPairsTest, a_pair_that_was_too_slow_backs_off_for_five_seconds) {
  know(2, 2, 1);
  begin();
  settle();
  std::erase(open_, RailPair{1, 1});
  pairs_.see_lanes(open_, {{1, 1}}, t_);
  EXPECT_EQ(pairs_.next_change(t_), t_ + 5s);
}

TEST_F(RailPairsTest, expedite__pairs_that_carried_are_tried_within_a_second) {
  know(2, 2, 1);
  begin();
  settle();
  std::erase(open_, RailPair{1, 1});
  pairs_.see_lanes(open_, {{1, 1}}, t_);
  pairs_.expedite();
  EXPECT_EQ(pairs_.next_change(t_), t_ + 1s);
}

TEST_F(RailPairsTest, a_link_that_is_up_ends_a_backoff) {
  know(2, 2, 1);
  begin();
  settle();
  lose({1, 1});
  pairs_.wake_local(1);
  EXPECT_EQ(told(pairs_.due(t_)), "1-1 ");
}

// ------------------------------------------------------------------------------------------------------------- silence

TEST_F(RailPairsTest, in_silence_one_of_every_pair_is_tried) {
  know(2, 2, 4);
  begin();
  settle();
  t_ += 2s;
  EXPECT_EQ(told(pairs_.due_in_silence(t_, places_)), "0-0 1-1 0-1 1-0 ");
  try_all(pairs_.due_in_silence(t_, places_), [](const RailPair&) { return false; });
  EXPECT_TRUE(pairs_.due_in_silence(t_, places_).empty()) << "once a second";
}

// Some rails are dead at this end, and the others at the peer's: no pair that carried works.
TEST_F(RailPairsTest, in_silence_a_pair_of_rails_that_live_is_found_soon) {
  for (const int rails : {8, 12, 16}) {
    for (const int dead : {1, rails / 2, rails - 1}) {
      pairs_ = RailPairs(hooks_);
      open_.clear();
      know(rails, rails, 1);
      begin();
      settle();
      bool found = false;
      const TimePoint start = t_ += 2s;
      while (!found && t_ < start + 1min) {
        const auto due = pairs_.due_in_silence(t_, places_);
        ASSERT_LE(due.size(), 16u);
        for (const auto& one : due) found |= one.pair->rails.local >= dead && one.pair->rails.remote < dead;
        for (const auto& one : due) pairs_.try_began(*one.pair, t_);
        t_ += due.empty() ? 50ms : due.front().time;
        for (const auto& one : due) pairs_.try_ended(*one.pair, t_), pairs_.failed(*one.pair, t_);
      }
      EXPECT_TRUE(found);
      EXPECT_LE(t_ - start, 5s) << rails << " rails, of which " << dead << " are dead here and the others there";
    }
  }
}

TEST_F(RailPairsTest, in_silence_pairs_that_carried_are_tried_though_many_wait) {
  know(16, 16, 1);
  begin();
  settle();
  std::map<int, int> tries;
  const TimePoint end = t_ + 8s;
  for (t_ += 2s; t_ < end; t_ += 1s) {
    const auto due = pairs_.due_in_silence(t_, places_);
    for (const auto& one : due) {
      EXPECT_EQ(one.time, RailPairs::kTimeOfMany) << "others wait";
      if (one.pair->rails.local == one.pair->rails.remote) ++tries[one.pair->rails.local];
    }
    try_all(due, [](const RailPair&) { return false; });
  }
  EXPECT_EQ(tries.size(), 16u);
  for (const auto& [rail, count] : tries) EXPECT_GE(count, 2) << rail;
}

// Pairs that were not tried yet come first: here the pair of the first lane, and the pair of the probe.
TEST_F(RailPairsTest, on_probe__the_pair_of_the_probe_is_tried_soon) {
  know(16, 16, 1);
  begin();
  settle();
  t_ += 2s;
  pairs_.on_probe({7, 12});
  pairs_.on_probe({70, 12});  // an unknown pair
  EXPECT_TRUE(told(pairs_.due_in_silence(t_, places_)).starts_with("0-0 7-12 "));
  try_all(pairs_.due_in_silence(t_, places_), [](const RailPair&) { return false; });
  t_ += 1s;
  EXPECT_EQ(told(pairs_.due_in_silence(t_, places_)).find("7-12 "), std::string::npos) << "once";
}

TEST_F(RailPairsTest, in_silence_few_places_are_shared) {
  know(16, 16, 1);
  begin();
  settle();
  t_ += 2s;
  places_ = 4;
  EXPECT_EQ(told(pairs_.due_in_silence(t_, places_)), "0-0 1-1 0-1 1-2 ");
}

TEST_F(RailPairsTest, in_silence_sixteen_are_under_way_at_most) {
  know(16, 16, 1);
  begin();
  settle();
  t_ += 2s;
  const auto due = pairs_.due_in_silence(t_, places_);
  ASSERT_EQ(due.size(), 16u);
  for (const auto& one : due) pairs_.try_began(*one.pair, t_);
  EXPECT_TRUE(pairs_.due_in_silence(t_ + 500ms, places_).empty());
  pairs_.try_ended(*due.front().pair, t_ + 500ms);
  EXPECT_EQ(pairs_.due_in_silence(t_ + 500ms, places_).size(), 1u);
}

}  // namespace
}  // namespace railweave::engine

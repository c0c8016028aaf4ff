#include "engine/rail_pairs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

namespace railweave::engine {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kThen{1h};

// Rails that all reach each other, the pairs of equal numbers first.
class Pairs : public testing::Test {
 protected:
  void know(int local_rails, int remote_rails, int lanes_each) {
    std::vector<RailPairs::Candidate> candidates;
    for (int apart = 0; apart < std::max(local_rails, remote_rails); ++apart)
      for (int l = 0; l < local_rails; ++l)
        for (int r = 0; r < remote_rails; ++r)
          if (std::abs(l - r) == apart) candidates.push_back({{l, r}, lanes_each});
    pairs_.know(candidates, local_rails, remote_rails);
  }
  void begin() {
    pairs_.begin({0, 0}, t_);
    open_ = {{0, 0}};
  }
  void try_all(const std::vector<RailPairs::Due>& due, const std::function<bool(const RailPair&)>& comes_up) {
    for (const auto& one : due) pairs_.try_began(*one.pair, t_);
    for (const auto& one : due) {
      pairs_.try_ended(*one.pair, t_);
      if (comes_up(one.pair->rails)) {
        pairs_.came_up(*one.pair, t_);
        open_.push_back(one.pair->rails);
      } else {
        pairs_.failed(*one.pair, t_);
      }
    }
  }
  void fail(const RailPair& rails) {
    pairs_.try_began(*pairs_.find(rails), t_);
    pairs_.try_ended(*pairs_.find(rails), t_);
    pairs_.failed(*pairs_.find(rails), t_);
  }
  void lose(const RailPair& rails) {
    std::erase(open_, rails);
    look();
  }
  void look() { pairs_.see_lanes(open_, {}, t_); }
  void settle() {
    for (int i = 0; i < 3; ++i) try_all(pairs_.due(t_), [](const RailPair&) { return true; });
  }
  int lanes_of(const RailPair& rails) const { return int(std::ranges::count(open_, rails)); }
  static std::string told(const std::vector<RailPairs::Due>& due) {
    std::string text;
    for (const auto& one : due) text += std::to_string(one.pair->rails.local) + "-" + std::to_string(one.pair->rails.remote) + " ";
    return text;
  }

  std::set<int> links_down_, peers_links_down_;
  int named_ = 0;
  const RailPairs::Hooks hooks_{.has_link = [this](int rail) { return !links_down_.contains(rail); },
                                .peer_has_link = [this](int rail) { return !peers_links_down_.contains(rail); },
                                .chance = [] { return 0; },
                                .long_rest = [this](const RailPairs::Pair&) { ++named_; }};
  RailPairs pairs_{hooks_};
  std::vector<RailPair> open_;
  int places_ = kPlacesMax;
  TimePoint t_ = kThen;
};

// ------------------------------------------------------------------------------------------------------------ the plan

TEST_F(Pairs, due__nothing_by_a_rail_that_the_peer_says_has_no_link) {
  know(2, 2, 1);
  begin();
  peers_links_down_ = {1};
  EXPECT_EQ(told(pairs_.due(t_)), "1-0 ") << "the other rail of ours stands by the peer's living one";
  peers_links_down_.clear();
  EXPECT_EQ(told(pairs_.due(t_)), "1-1 ");
}

TEST_F(Pairs, first_lanes_come_before_second_ones) {
  know(3, 3, 2);
  begin();
  EXPECT_EQ(told(pairs_.due(t_)), "1-1 2-2 0-0 1-1 2-2 ");
}

TEST_F(Pairs, all_have_their_share_where_not_all_have_room) {
  know(8, 8, 16);
  begin();
  settle();
  for (int rail = 0; rail < 8; ++rail) EXPECT_EQ(lanes_of({rail, rail}), 8) << rail;
}

TEST_F(Pairs, of_a_pair_that_failed_one_lane_is_tried) {
  know(2, 2, 4);
  begin();
  try_all(pairs_.due(t_), [](const RailPair& rails) { return rails.local == 0; });
  EXPECT_EQ(told(pairs_.due(t_)), "0-1 1-0 ") << "it rests, and others stand in";
  t_ += 1s;
  EXPECT_EQ(told(pairs_.due(t_)), "1-1 ");
}

TEST_F(Pairs, a_stand_in_has_one_lane_where_one_of_its_rails_carries) {
  know(2, 2, 4);
  begin();
  settle();
  lose({1, 1});
  EXPECT_EQ(told(pairs_.due(t_)), "0-1 1-0 ") << "while their own pair rests";
}

TEST_F(Pairs, a_stand_in_for_all_has_all_lanes) {
  know(2, 2, 3);
  begin();
  settle();
  lose({0, 0});
  lose({1, 1});
  EXPECT_EQ(told(pairs_.due(t_)), "0-1 1-0 0-1 0-1 1-0 1-0 ");
}

// Rails of different speed at the two ends: those that belong together have fewer lanes than the one that stands in.
TEST_F(Pairs, a_stand_in_has_as_many_lanes_as_its_rails_want) {
  pairs_.know({{{0, 0}, 1}, {{1, 1}, 1}, {{0, 1}, 4}, {{1, 0}, 1}}, 2, 2);
  begin();
  settle();
  lose({0, 0});
  lose({1, 1});
  EXPECT_EQ(told(pairs_.due(t_)), "0-1 1-0 0-1 0-1 0-1 ");
}

TEST_F(Pairs, a_home_pair_comes_back_though_others_stand_in) {
  know(2, 2, 1);
  begin();
  settle();
  lose({1, 1});
  settle();
  ASSERT_EQ(lanes_of({0, 1}) + lanes_of({1, 0}), 2);
  t_ += 1s;
  EXPECT_EQ(told(pairs_.due(t_)), "1-1 ");
}

TEST_F(Pairs, what_stands_in_has_less_room) {
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

TEST_F(Pairs, none_is_dialled_whose_rail_has_no_link) {
  know(2, 2, 1);
  begin();
  links_down_ = {1};
  EXPECT_EQ(told(pairs_.due(t_)), "0-1 ");
}

// A pair stays where it was, though its rails have no addresses for now: who dials refers to it.
TEST_F(Pairs, those_that_have_no_way_any_more_are_known_and_not_dialled) {
  know(2, 2, 1);
  begin();
  RailPairs::Pair* const before = pairs_.find({1, 1});
  pairs_.know({{{0, 0}, 1}}, 2, 2);
  EXPECT_EQ(pairs_.find({1, 1}), before);
  EXPECT_EQ(told(pairs_.due(t_)), "");
  know(2, 2, 1);
  EXPECT_EQ(told(pairs_.due(t_)), "1-1 ");
}

// A lane that an unknown rail of the peer took is there before the peer tells of that rail.
TEST_F(Pairs, one_whose_lane_came_before_its_rail_was_known_carried) {
  know(1, 1, 1);
  begin();
  open_.push_back({0, 1});
  look();
  know(1, 2, 1);
  EXPECT_FALSE(pairs_.find({0, 1})->carried());
  look();
  EXPECT_TRUE(pairs_.find({0, 1})->carried());
  lose({0, 1});
  EXPECT_TRUE(pairs_.find({0, 1})->promises());
}

// --------------------------------------------------------------------------------------------------------------- rests

TEST_F(Pairs, who_is_lost_again_soon_rests_twice_as_long_and_is_named_once) {
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

TEST_F(Pairs, tries_that_failed_are_no_flapping) {
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

TEST_F(Pairs, one_that_was_too_slow_rests_five_seconds) {
  know(2, 2, 1);
  begin();
  settle();
  std::erase(open_, RailPair{1, 1});
  pairs_.see_lanes(open_, {{1, 1}}, t_);
  EXPECT_EQ(pairs_.next_change(t_), t_ + 5s);
}

TEST_F(Pairs, with_nothing_left_those_that_carried_are_tried_within_a_second) {
  know(2, 2, 1);
  begin();
  settle();
  std::erase(open_, RailPair{1, 1});
  pairs_.see_lanes(open_, {{1, 1}}, t_);
  pairs_.hurry();
  EXPECT_EQ(pairs_.next_change(t_), t_ + 1s);
}

TEST_F(Pairs, a_link_that_is_up_ends_a_rest) {
  know(2, 2, 1);
  begin();
  settle();
  lose({1, 1});
  pairs_.wake_local(1);
  EXPECT_EQ(told(pairs_.due(t_)), "1-1 ");
}

// ---------------------------------------------------------------------------------------------------------- rails to blame

TEST_F(Pairs, the_first_stand_in_is_tried_at_once_and_then_the_rail_rests) {
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

TEST_F(Pairs, stand_ins_for_a_rail_that_fails_take_turns_and_its_home_pair_does_not) {
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

// All lanes over one rail of the peer come up and are lost a second later: rail 1 has a hole for large packets, say.
class Hole : public Pairs, public testing::WithParamInterface<int> {
 protected:
  // How many came up in that time.
  int live(Nanos time) {
    int ever = 0;
    for (const TimePoint end = t_ + time; t_ < end; t_ += 50ms) {
      std::erase_if(dying_, [&](const auto& lane) {
        if (lane.second > t_) return false;
        open_.erase(std::ranges::find(open_, lane.first));
        return true;
      });
      look();
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

TEST_P(Hole, few_lanes_come_up_whatever_the_number_of_partners) {
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

INSTANTIATE_TEST_SUITE_P(Partners, Hole, testing::Values(2, 4, 12));

TEST_F(Pairs, a_rail_that_flapped_has_one_lane_until_that_has_lived_for_a_while) {
  know(2, 2, 4);
  begin();
  settle();
  const auto all_come_up = [](const RailPair&) { return true; };
  for (int i = 0; i < 3; ++i) {
    std::erase_if(open_, [](const RailPair& rails) { return rails.remote == 1; });
    look();
    while (pairs_.due(t_).empty()) t_ = pairs_.next_change(t_);
    for (int k = 0; k < 3; ++k) try_all(pairs_.due(t_), all_come_up);
  }
  EXPECT_EQ(std::ranges::count(open_, 1, &RailPair::remote), 1);
  t_ += 2s;
  for (int i = 0; i < 3; ++i) try_all(pairs_.due(t_), all_come_up);
  EXPECT_EQ(lanes_of({1, 1}), 4);
}

TEST_F(Pairs, a_link_that_is_up_ends_the_rest_of_its_rail) {
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

TEST_F(Pairs, without_any_lane_no_rail_is_to_blame) {
  know(2, 2, 1);
  begin();
  settle();
  for (int i = 0; i < 4; ++i) {
    open_.clear();
    look();
    t_ += 100ms;
    pairs_.wake_local(0), pairs_.wake_local(1);
    EXPECT_EQ(pairs_.due(t_).size(), 2u);
    try_all(pairs_.due(t_), [](const RailPair&) { return true; });
  }
}

// ------------------------------------------------------------------------------------------------------------- stand-ins

class StandIns : public Pairs {
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
    ASSERT_EQ(open_.size(), 4u) << "both home pairs, and two that stood in for one of them";
  }
  const std::vector<Surplus> both_{{{0, 1}, 0}, {{1, 0}, 0}};
};

TEST_F(StandIns, retire_when_the_home_pairs_of_both_rails_have_been_up_for_a_while) {
  EXPECT_EQ(pairs_.surplus(t_), std::vector<Surplus>());
  EXPECT_EQ(pairs_.next_change(t_), t_ + 2s);
  t_ += 2s;
  EXPECT_EQ(pairs_.surplus(t_), both_);
  std::erase(open_, RailPair{1, 0});
  look();
  EXPECT_FALSE(pairs_.find({1, 0})->back_off.rests(t_)) << "that was in good order";
  EXPECT_EQ(told(pairs_.due(t_)), "");
  EXPECT_EQ(pairs_.surplus(t_), std::vector<Surplus>({{{0, 1}, 0}}));
}

TEST_F(StandIns, serve_again_when_a_home_pair_goes) {
  t_ += 2s;
  ASSERT_EQ(pairs_.surplus(t_), both_);
  lose({1, 1});
  EXPECT_EQ(pairs_.surplus(t_), std::vector<Surplus>());
}

TEST_F(StandIns, that_do_not_end_in_time_serve_again_and_retire_later) {
  t_ += 2s;
  ASSERT_EQ(pairs_.surplus(t_), both_);
  t_ = pairs_.next_change(t_);
  EXPECT_EQ(pairs_.surplus(t_), std::vector<Surplus>());
  t_ = pairs_.next_change(t_);
  EXPECT_EQ(pairs_.surplus(t_), both_);
}

// Dialled for 1-1, taken by rail 0 of the peer.
TEST_F(Pairs, a_lane_that_another_rail_took_is_one_too_many_where_that_has_its_own) {
  know(2, 2, 1);
  begin();
  open_.push_back({0, 0});
  pairs_.came_up(*pairs_.find({0, 0}), t_);
  look();
  EXPECT_EQ(pairs_.surplus(t_), std::vector<Surplus>({{{0, 0}, 1}}));
}

TEST_F(Pairs, a_rail_that_comes_later_makes_the_stand_in_for_it_retire) {
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

// ------------------------------------------------------------------------------------------------------------- silence

TEST_F(Pairs, in_silence_one_of_every_pair_is_tried) {
  know(2, 2, 4);
  begin();
  settle();
  t_ += 2s;
  EXPECT_EQ(told(pairs_.due_in_silence(t_, places_)), "0-0 1-1 0-1 1-0 ");
  try_all(pairs_.due_in_silence(t_, places_), [](const RailPair&) { return false; });
  EXPECT_TRUE(pairs_.due_in_silence(t_, places_).empty()) << "once a second";
}

// Some rails are dead at one side, the others at the other: no pair that carried lives.
TEST_F(Pairs, in_silence_a_pair_of_rails_that_live_is_found_soon) {
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

TEST_F(Pairs, in_silence_those_that_carried_are_tried_again_though_many_wait) {
  know(16, 16, 1);
  begin();
  settle();
  std::map<int, int> tries;
  for (t_ += 2s; t_ < kThen + 8s; t_ += 1s) {
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

// But for the pair of the first lane, no one of these was ever tried.
TEST_F(Pairs, where_the_peer_knocked_is_tried_soon) {
  know(16, 16, 1);
  begin();
  settle();
  t_ += 2s;
  pairs_.on_knock({7, 12});
  pairs_.on_knock({70, 12});  // nobody knows it
  EXPECT_TRUE(told(pairs_.due_in_silence(t_, places_)).starts_with("0-0 7-12 "));
  try_all(pairs_.due_in_silence(t_, places_), [](const RailPair&) { return false; });
  t_ += 1s;
  EXPECT_EQ(told(pairs_.due_in_silence(t_, places_)).find("7-12 "), std::string::npos) << "once";
}

TEST_F(Pairs, in_silence_few_places_are_shared) {
  know(16, 16, 1);
  begin();
  settle();
  t_ += 2s;
  places_ = 4;
  EXPECT_EQ(told(pairs_.due_in_silence(t_, places_)), "0-0 1-1 0-1 1-2 ");
}

TEST_F(Pairs, in_silence_sixteen_are_under_way_at_most) {
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

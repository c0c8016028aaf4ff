// RailAccount and AccountPlace. The test sets the time, and writes the places of other processes.
#include "engine/credit/rail_account.h"

#include <gtest/gtest.h>

#include <deque>
#include <limits>
#include <thread>

#include "tests/unit/engine/paper_account.h"

namespace railweave::engine {
namespace {

using namespace std::chrono_literals;
using Renewed = AccountPlace::Renewed;

constexpr TimePoint kAccountTime{1h};
constexpr int kAllPlaces = AccountMemory::kPlaces;

class RailAccountTest : public testing::Test {
 protected:
  RailLoad load(TimePoint now = kAccountTime) const { return load_of(*memory_, now); }
  AccountMemory::Place& raw(int number) { return memory_->places[std::size_t(number)]; }
  void write(int number, const PaperPlace& place) { write_place(*memory_, number, place); }
  // Writes `places` places of other lanes, which polled at `now`.
  void fill(int places, TimePoint now) {
    for (int i = 0; i < places; ++i) write(i, {.polled_at = now});
  }

  std::shared_ptr<AccountMemory> memory_ = std::make_shared<AccountMemory>();
  std::shared_ptr<RailAccount> account_ = std::make_shared<RailAccount>(memory_);
};

TEST_F(RailAccountTest, renew__takes_a_place_and_keeps_it) {
  AccountPlace a{account_}, b{account_};
  EXPECT_EQ(a.renew(kAccountTime), Renewed::new_place);
  EXPECT_EQ(b.renew(kAccountTime), Renewed::new_place);
  EXPECT_EQ(a.renew(kAccountTime + 1ms), Renewed::kept);
  EXPECT_EQ(a.renew(kAccountTime + 1h), Renewed::kept) << "nobody else wanted it";
  EXPECT_EQ(memory_->used, 2);
  EXPECT_EQ(load(kAccountTime + 1h).lanes, 1) << "the other did not look";
}

TEST_F(RailAccountTest, renew__what_a_lane_says_counts_at_its_place) {
  AccountPlace a{account_}, b{account_};
  for (AccountPlace* place : {&a, &b}) (void)place->renew(kAccountTime);
  a.add_arrived(100);
  b.add_arrived(20);
  a.add_arrived(3);
  b.set_demand(true);
  EXPECT_EQ(load().arrived_bytes, 123u);
  EXPECT_EQ(load().demanding, 1);
  EXPECT_EQ(a.load(kAccountTime).arrived_bytes, 123u);
}

TEST_F(RailAccountTest, load_of__has_the_shortest_round_trip_that_a_lane_knows) {
  AccountPlace a{account_}, b{account_};
  for (AccountPlace* place : {&a, &b}) (void)place->renew(kAccountTime);
  EXPECT_EQ(load().least_rtt, 0us) << "nobody knows one";
  a.set_min_rtt(900us);
  EXPECT_EQ(load().least_rtt, 900us);
  b.set_min_rtt(30500ns);
  EXPECT_EQ(load().least_rtt, 31us) << "in microseconds, rounded up";
  (void)a.renew(kAccountTime + 2min);
  EXPECT_EQ(load(kAccountTime + 2min).least_rtt, 900us) << "the other is gone";
  a.set_min_rtt(2h);
  EXPECT_EQ(load(kAccountTime + 2min).least_rtt, std::chrono::microseconds(UINT32_MAX));
}

TEST_F(RailAccountTest, a_destroyed_place_leaves_only_its_arrived_bytes) {
  {
    AccountPlace gone{account_};
    (void)gone.renew(kAccountTime);
    gone.add_arrived(100);
    gone.set_demand(true);
    gone.set_turn(true);
    gone.use_turn(kAccountTime);
  }
  EXPECT_EQ(load().lanes, 0);
  AccountPlace next{account_};
  EXPECT_EQ(next.renew(kAccountTime), Renewed::new_place);
  EXPECT_EQ(memory_->used, 1);
  EXPECT_EQ(load().lanes, 1);
  EXPECT_EQ(load().demanding, 0);
  next.set_demand(true);
  EXPECT_EQ(load().turns_held, 0);
  EXPECT_EQ(load().arrived_bytes, 100u) << "else the rate would go back";
}

TEST_F(RailAccountTest, renew__a_place_not_renewed_for_a_minute_is_taken_over) {
  AccountPlace idle{account_};
  (void)idle.renew(kAccountTime);
  AccountPlace early{account_}, late{account_};
  (void)early.renew(kAccountTime + 60s - 1ns);
  EXPECT_EQ(memory_->used, 2);
  (void)late.renew(kAccountTime + 60s);
  EXPECT_EQ(memory_->used, 2) << "a third place was taken";
  EXPECT_EQ(idle.renew(kAccountTime + 60s), Renewed::new_place);
  EXPECT_EQ(memory_->used, 3);
}

// Otherwise the two would take the place from each other again and again.
TEST_F(RailAccountTest, renew__whose_place_was_taken_over_leaves_it_to_the_new_owner) {
  AccountPlace old{account_}, taker{account_};
  (void)old.renew(kAccountTime);
  (void)taker.renew(kAccountTime + 60s);
  ASSERT_EQ(memory_->used, 1);
  ASSERT_EQ(old.renew(kAccountTime + 60s + 1ms), Renewed::new_place);
  EXPECT_EQ(load(kAccountTime + 60s + 1ms).lanes, 2);
  EXPECT_EQ(taker.renew(kAccountTime + 60s + 2ms), Renewed::kept);
  EXPECT_EQ(old.renew(kAccountTime + 60s + 3ms), Renewed::kept);
}

TEST_F(RailAccountTest, a_destroyed_place_that_was_taken_over_frees_nothing) {
  AccountPlace taker{account_};
  {
    AccountPlace old{account_};
    (void)old.renew(kAccountTime);
    (void)taker.renew(kAccountTime + 60s);
  }
  EXPECT_EQ(taker.renew(kAccountTime + 60s), Renewed::kept);
}

TEST_F(RailAccountTest, renew__a_full_account_has_no_place_until_a_lease_is_over) {
  fill(kAllPlaces, kAccountTime);
  AccountPlace more{account_};
  EXPECT_EQ(more.renew(kAccountTime), Renewed::none);
  EXPECT_EQ(more.renew(kAccountTime + 500ms - 1ns), Renewed::none);
  EXPECT_EQ(more.renew(kAccountTime + 500ms), Renewed::new_place);
  EXPECT_EQ(more.renew(kAccountTime + 501ms), Renewed::kept);
  EXPECT_EQ(memory_->used, kAllPlaces);
}

TEST_F(RailAccountTest, renew__a_fresh_place_goes_before_one_whose_lease_is_over) {
  fill(3, kAccountTime);
  AccountPlace more{account_};
  (void)more.renew(kAccountTime + 1s);
  EXPECT_EQ(memory_->used, 4);
}

TEST_F(RailAccountTest, renew__leases_that_nobody_can_have_are_free_places) {
  fill(kAllPlaces, kAccountTime);
  raw(7).leased_until = std::numeric_limits<std::int64_t>::max();
  raw(8).leased_until = (kAccountTime + 24h).time_since_epoch().count();
  raw(9).leased_until = std::numeric_limits<std::int64_t>::min();
  std::deque<AccountPlace> places;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(places.emplace_back(account_).renew(kAccountTime), Renewed::new_place) << i;
  EXPECT_EQ(AccountPlace{account_}.renew(kAccountTime), Renewed::none);
  for (AccountPlace& place : places) EXPECT_EQ(place.renew(kAccountTime + 1ms), Renewed::kept);
}

TEST_F(RailAccountTest, load_of__demand_counts_for_a_lease_and_a_lane_for_a_minute) {
  fill(2, kAccountTime);
  EXPECT_EQ(load(kAccountTime + 500ms).demanding, 2);
  EXPECT_EQ(load(kAccountTime + 500ms + 1ns).demanding, 0);
  EXPECT_FALSE(load(kAccountTime + 500ms + 1ns).any_waits);
  EXPECT_EQ(load(kAccountTime + 60s).lanes, 2);
  EXPECT_EQ(load(kAccountTime + 60s + 1ns).lanes, 0);
}

TEST_F(RailAccountTest, load_of__leases_of_another_clock_do_not_count) {
  fill(5, kAccountTime);
  raw(0).leased_until = std::numeric_limits<std::int64_t>::max();
  raw(1).leased_until = (kAccountTime + 1s + 1ns).time_since_epoch().count();
  raw(2).leased_until = std::numeric_limits<std::int64_t>::min();
  raw(3).leased_until = -1;
  EXPECT_EQ(load().lanes, 1);
  EXPECT_EQ(load().demanding, 1);
  raw(1).leased_until = (kAccountTime + 1s).time_since_epoch().count();
  EXPECT_EQ(load().demanding, 2) << "another thread's time may be a little later";
}

TEST_F(RailAccountTest, load_of__an_impossible_number_of_used_places_is_clamped) {
  fill(kAllPlaces, kAccountTime);
  for (const std::int32_t used : {std::numeric_limits<std::int32_t>::max(), kAllPlaces + 1}) {
    memory_->used = used;
    EXPECT_EQ(load().lanes, kAllPlaces);
  }
  for (const std::int32_t used : {-1, std::numeric_limits<std::int32_t>::min()}) {
    memory_->used = used;
    EXPECT_EQ(load().lanes, 0);
  }
}

TEST_F(RailAccountTest, renew__a_place_beyond_a_negative_number_of_used_ones_counts) {
  fill(3, kAccountTime);
  memory_->used = -5;
  AccountPlace more{account_};
  (void)more.renew(kAccountTime);
  EXPECT_EQ(load().lanes, 4);
}

// Another process may write any number of used places, and so hide the places beyond.
TEST_F(RailAccountTest, renew__a_place_hidden_by_a_forged_number_is_seen_again) {
  std::deque<AccountPlace> places;
  for (int i = 0; i < 3; ++i) (void)places.emplace_back(account_).renew(kAccountTime);
  memory_->used = 0;
  ASSERT_EQ(load().lanes, 0);
  EXPECT_EQ(places[1].renew(kAccountTime), Renewed::kept);
  EXPECT_EQ(load().lanes, 2);
  EXPECT_EQ(places[2].renew(kAccountTime), Renewed::kept);
  EXPECT_EQ(load().lanes, 3);
}

TEST_F(RailAccountTest, renew__what_another_process_wrote_there_is_written_over) {
  AccountPlace place{account_};
  (void)place.renew(kAccountTime);
  place.set_demand(true);
  place.set_turn(true);
  place.set_turns(7);
  raw(0).has_demand = 0;
  raw(0).has_turn = 0;
  raw(0).turns = 99;
  EXPECT_EQ(place.renew(kAccountTime), Renewed::kept);
  EXPECT_EQ(load().demanding, 1);
  EXPECT_EQ(raw(0).has_turn, 1);
  EXPECT_EQ(raw(0).turns, 7u);
}

// CLOCK_MONOTONIC begins when the host boots.
TEST_F(RailAccountTest, load_of__free_places_are_no_lanes_just_after_boot) {
  constexpr TimePoint kBooted{1s};
  std::deque<AccountPlace> places;
  for (int i = 0; i < 3; ++i) (void)places.emplace_back(account_).renew(kBooted);
  places.pop_front();
  places.pop_front();
  EXPECT_EQ(load(kBooted).lanes, 1);
  EXPECT_EQ(places.emplace_back(account_).renew(kBooted), Renewed::new_place);
  EXPECT_EQ(memory_->used, 3) << "a free place is taken first";
}

TEST_F(RailAccountTest, load_of__turns_stand_still_for_the_times_that_are_given) {
  write(0, {.polled_at = kAccountTime, .turn = true});
  const auto after = [&](Nanos time) {
    return load_of(*memory_, kAccountTime + time, {.stalled = 5ms, .unused = 10ms});
  };
  EXPECT_EQ(after(5ms).turns, 1);
  EXPECT_EQ(after(5ms + 1ns).turns, 0);
  EXPECT_EQ(after(10ms).turns_held, 1);
  EXPECT_EQ(after(10ms + 1ns).turns_held, 0);
}

TEST_F(RailAccountTest, load_of__a_turn_is_used_for_1_ms_and_held_for_4_ms) {
  write(0, {.polled_at = kAccountTime, .turn = true});
  const auto after = [&](Nanos time) { return load(kAccountTime + time); };
  EXPECT_EQ(after(1ms).turns, 1);
  EXPECT_EQ(after(1ms + 1ns).turns, 0);
  EXPECT_EQ(after(1ms + 1ns).turns_held, 1);
  EXPECT_EQ(after(4ms).turns_held, 1);
  EXPECT_EQ(after(4ms + 1ns).turns_held, 0);
  EXPECT_EQ(after(4ms + 1ns).demanding, 1);
}

TEST_F(RailAccountTest, load_of__a_lane_without_demand_has_no_turn_whatever_it_says) {
  write(0, {.polled_at = kAccountTime, .demand = false, .turn = true});
  EXPECT_EQ(load().turns_held, 0);
  EXPECT_EQ(load().turns, 0);
}

TEST_F(RailAccountTest, load_of__demand_without_a_turn_waits_for_3_ms_after_renewal) {
  write(0, {.polled_at = kAccountTime, .turns = 7});
  EXPECT_TRUE(load(kAccountTime + 3ms).any_waits);
  EXPECT_EQ(load(kAccountTime + 3ms).fewest_turns, 7u);
  EXPECT_FALSE(load(kAccountTime + 3ms + 1ns).any_waits);
  EXPECT_EQ(load(kAccountTime + 3ms + 1ns).demanding, 1);
}

// The turn was over long ago: the place's owner polls, and waits.
TEST_F(RailAccountTest, load_of__a_turn_of_which_nothing_came_for_4_ms_waits_again) {
  write(0, {.polled_at = kAccountTime, .turn = true, .used_at = kAccountTime - 5ms, .turns = 3});
  EXPECT_TRUE(load().any_waits);
  EXPECT_EQ(load().fewest_turns, 3u);
}

TEST_F(RailAccountTest, load_of__fewest_turns_of_waiting_lanes_and_most_of_others) {
  for (const std::uint32_t turns : {8u, 6u, 9u}) write(int(turns), {.polled_at = kAccountTime, .turns = turns});
  for (const std::uint32_t turns : {3u, 12u, 11u})
    write(int(turns), {.polled_at = kAccountTime, .turn = true, .turns = turns});
  EXPECT_EQ(load().fewest_turns, 6u);
  EXPECT_EQ(load().most_turns, 12u);
  EXPECT_EQ(load().turns, 3);
  EXPECT_EQ(load().demanding, 6);
}

TEST_F(RailAccountTest, load_of__turns_are_compared_across_the_end_of_their_count) {
  constexpr std::uint32_t kLast = std::numeric_limits<std::uint32_t>::max();
  write(0, {.polled_at = kAccountTime, .turns = 1});
  write(1, {.polled_at = kAccountTime, .turns = kLast - 1});
  write(2, {.polled_at = kAccountTime, .turn = true, .turns = kLast});
  write(3, {.polled_at = kAccountTime, .turn = true, .turns = 2});
  EXPECT_EQ(load().fewest_turns, kLast - 1);
  EXPECT_EQ(load().most_turns, 2u);
}

TEST_F(RailAccountTest, load_of__a_turn_used_at_an_impossible_time_is_one_turn) {
  for (const std::int64_t used_at :
       {std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}) {
    write(0, {.polled_at = kAccountTime, .turn = true});
    raw(0).turn_used_at = used_at;
    EXPECT_EQ(load().turns + load().any_waits, 1) << used_at;
  }
}

TEST_F(RailAccountTest, share__a_place_moves_to_the_new_memory_at_its_next_renewal) {
  AccountPlace a{account_}, b{account_};
  for (AccountPlace* place : {&a, &b}) (void)place->renew(kAccountTime);
  const auto shared = std::make_shared<AccountMemory>();
  account_->share(shared);
  EXPECT_EQ(&account_->memory(), shared.get());
  a.add_arrived(5);  // before its next renewal: goes into the former memory, which still exists
  EXPECT_EQ(a.renew(kAccountTime), Renewed::new_place);
  EXPECT_EQ(load_of(*shared, kAccountTime).lanes, 1);
  EXPECT_EQ(load().lanes, 1) << "b has its place there until it looks";
  EXPECT_EQ(b.renew(kAccountTime), Renewed::new_place);
  EXPECT_EQ(load_of(*shared, kAccountTime).lanes, 2);
  EXPECT_EQ(load().lanes, 0);
  EXPECT_EQ(a.renew(kAccountTime), Renewed::kept);
}

TEST_F(RailAccountTest, share__the_memory_before_lives_as_long_as_the_account) {
  AccountPlace a{account_};
  (void)a.renew(kAccountTime);
  const std::weak_ptr<AccountMemory> before = memory_;
  memory_.reset();
  account_->share(std::make_shared<AccountMemory>());
  EXPECT_FALSE(before.expired());
}

TEST_F(RailAccountTest, renew__threads_that_take_places_at_once_get_different_ones) {
  constexpr int kEach = kAllPlaces / 2;
  std::deque<AccountPlace> places[2];
  std::atomic<int> ready{0};
  const auto take_all = [&](std::deque<AccountPlace>& mine) {
    for (int i = 0; i < kEach; ++i) mine.emplace_back(account_);
    for (++ready; ready < 2;) {
    }
    for (AccountPlace& place : mine) {
      EXPECT_EQ(place.renew(kAccountTime), Renewed::new_place);
      place.add_arrived(1);
    }
  };
  std::thread other{[&] { take_all(places[1]); }};
  take_all(places[0]);
  other.join();
  EXPECT_EQ(load().lanes, kAllPlaces);
  for (const AccountMemory::Place& place : memory_->places) EXPECT_EQ(place.arrived_bytes, 1u);
}

}  // namespace
}  // namespace railweave::engine

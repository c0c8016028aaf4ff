// LaneShare with turns: one lane beside other lanes' places that the test writes, and many lanes behind a simulated
// switch port.
#include <gtest/gtest.h>

#include "tests/unit/engine/paper_account.h"
#include "tests/unit/engine/paper_port.h"

namespace railweave::engine {
namespace {

using namespace std::chrono_literals;
using TurnCredit = LaneShare::Credit;

constexpr TimePoint kTurnsTime{1h};
constexpr std::uint64_t kTurnLeft = 8 * KiB;   // left of a turn when the turn ends
constexpr std::uint64_t kTurnOf41 = 28 * KiB;  // 10 ms of 1 Gb/s, divided by 41 lanes
constexpr int kTurnsAtATime = 32;              // on rails of 1 Gb/s and slower
constexpr int kCrowdFrom = 100;                // first place of the crowd: other lanes, as the test writes them

class CreditTurns : public testing::Test {
 protected:
  // The lane has measured a rate of 1 Gb/s, while it had the rail alone.
  CreditTurns() {
    (void)lane_.poll(now_ - 5ms, {.position = 1}, 100us);
    arrivals_ = {.position = 625'001};
    (void)lane_.poll(now_, arrivals_, 100us);
    crowd_.resize(40, {.polled_at = now_, .turns = 10});
  }

  // Polls the lane. All of the crowd but `absent` polled just now.
  TurnCredit poll(int absent = -1) {
    for (int i = 0; i < int(crowd_.size()); ++i) {
      if (i != absent) crowd_[std::size_t(i)].polled_at = now_;
      write_place(*memory_, kCrowdFrom + i, crowd_[std::size_t(i)]);
    }
    return lane_.poll(now_, arrivals_, 100us);
  }
  TurnCredit arrive(std::uint64_t bytes) {
    arrivals_ = {.position = arrivals_.position + bytes, .segments = arrivals_.segments + 1, .waiting_kib = 100};
    return poll();
  }
  // The first `turns` of the crowd have a turn, and use it now.
  void busy(int turns) {
    for (int i = 0; i < int(crowd_.size()); ++i)
      crowd_[std::size_t(i)].turn = i < turns, crowd_[std::size_t(i)].used_at = now_;
  }
  AccountMemory::Place& mine() { return memory_->places[0]; }
  bool has_turn() { return mine().has_turn != 0; }
  // No other lane has a turn: the lane takes turns until it waits.
  void take_turns_until_it_waits() {
    busy(0);
    TurnCredit credit = arrive(1000);
    for (int i = 0; i < 100 && has_turn(); ++i) credit = arrive(credit.limit - arrivals_.position);
  }

  std::shared_ptr<AccountMemory> memory_ = std::make_shared<AccountMemory>();
  LaneShare lane_{std::make_shared<RailAccount>(memory_), Rate::from_megabits(1000)};
  LaneShare::Arrivals arrivals_;
  std::vector<PaperPlace> crowd_;
  TimePoint now_ = kTurnsTime;
};

TEST_F(CreditTurns, poll__a_turn_is_a_limit_beyond_what_arrived) {
  const TurnCredit credit = arrive(1000);
  EXPECT_EQ(credit, (TurnCredit{.window_bytes = 8 * KiB, .limit = arrivals_.position + kTurnOf41}));
  EXPECT_TRUE(has_turn());
  EXPECT_EQ(mine().turns, 11u);
  EXPECT_GT(lane_.due(), now_ + 8ms);
  EXPECT_LT(lane_.due(), now_ + 9ms);
}

TEST_F(CreditTurns, poll__a_lane_waits_while_all_turns_are_taken) {
  busy(kTurnsAtATime);
  const TurnCredit credit = arrive(1000);
  EXPECT_EQ(credit, (TurnCredit{.window_bytes = 8 * KiB, .limit = arrivals_.position}));
  EXPECT_FALSE(has_turn());
  EXPECT_EQ(lane_.due(), now_ + 1ms);
  now_ += 1ms;
  busy(kTurnsAtATime - 1);
  EXPECT_EQ(poll().limit, arrivals_.position + kTurnOf41);
}

TEST_F(CreditTurns, poll__a_turn_ends_when_a_window_of_it_is_left) {
  const std::uint64_t limit = arrive(1000).limit;
  busy(kTurnsAtATime);
  EXPECT_EQ(arrive(kTurnOf41 - kTurnLeft - 1).limit, limit);
  EXPECT_TRUE(has_turn());
  EXPECT_EQ(arrive(1).limit, limit) << "what was allowed stays so";
  EXPECT_FALSE(has_turn());
  EXPECT_EQ(lane_.due(), now_ + 1ms);
  now_ += 1ms;
  busy(0);
  const std::uint64_t next = arrive(1000).limit;
  EXPECT_EQ(next, arrivals_.position + kTurnOf41);
  EXPECT_EQ(mine().turns, 12u);
}

TEST_F(CreditTurns, poll__a_lane_gets_at_most_one_turn_ahead_of_one_that_waits) {
  take_turns_until_it_waits();
  EXPECT_EQ(mine().turns, 12u) << "the lane began the last one when it was one ahead";
  for (PaperPlace& place : crowd_) place.turns = 11;
  (void)poll();
  EXPECT_TRUE(has_turn());
  EXPECT_EQ(mine().turns, 13u);
}

TEST_F(CreditTurns, poll__a_waiting_lane_without_polls_for_3_ms_delays_no_other) {
  for (PaperPlace& place : crowd_) place.turns = 15;
  crowd_[7].turns = 10;
  take_turns_until_it_waits();
  ASSERT_EQ(mine().turns, 12u);
  now_ += 3ms;
  (void)poll(7);
  EXPECT_FALSE(has_turn());
  now_ += 1ns;
  (void)poll(7);
  EXPECT_TRUE(has_turn());
}

TEST_F(CreditTurns, poll__an_unused_turn_delays_no_other_after_two_queues) {
  busy(kTurnsAtATime);
  (void)arrive(1000);
  now_ += 4ms;
  (void)poll();
  EXPECT_FALSE(has_turn());
  now_ += 1ms;
  (void)poll();
  EXPECT_TRUE(has_turn());
}

TEST_F(CreditTurns, poll__at_most_four_times_as_many_turns_are_given) {
  crowd_.resize(150, {.polled_at = now_, .turns = 10});
  busy(4 * kTurnsAtATime);
  (void)arrive(1000);
  now_ += 8ms;
  (void)poll();
  EXPECT_FALSE(has_turn());
  now_ += 1ms;
  (void)poll();
  EXPECT_TRUE(has_turn()) << "they are over";
}

TEST_F(CreditTurns, poll__an_unused_turn_is_over_after_four_queues) {
  const std::uint64_t limit = arrive(1000).limit;
  now_ += 8ms;
  busy(kTurnsAtATime);
  (void)poll();
  EXPECT_TRUE(has_turn());
  now_ += 1ms;
  EXPECT_EQ(poll().limit, limit) << "it may come yet";
  EXPECT_FALSE(has_turn());
}

TEST_F(CreditTurns, poll__what_comes_within_four_queues_keeps_the_turn) {
  (void)arrive(1000);
  for (int i = 0; i < 10; ++i) {
    now_ += 7ms;
    busy(kTurnsAtATime);
    (void)arrive(1000);
    EXPECT_TRUE(has_turn()) << i;
  }
  EXPECT_EQ(mine().turns, 11u);
}

TEST_F(CreditTurns, poll__control_frames_do_not_keep_a_turn) {
  const std::uint64_t limit = arrive(1000).limit;
  for (int ms = 0; ms < 9; ++ms) {
    now_ += 1ms;
    busy(kTurnsAtATime);
    arrivals_.position += 64;
    EXPECT_EQ(poll().limit, limit);
  }
  EXPECT_FALSE(has_turn());
}

TEST_F(CreditTurns, poll__a_peer_that_ignores_its_limit_for_300_ms_has_no_demand) {
  (void)arrive(1000);
  for (int i = 0; i < 299; ++i) {
    now_ += 1ms;
    busy(kTurnsAtATime);
    (void)poll();
    ASSERT_EQ(mine().has_demand, 1);
  }
  now_ += 1ms;
  EXPECT_EQ(poll().limit, TurnCredit::kNone);
  EXPECT_EQ(mine().has_demand, 0);
  EXPECT_FALSE(has_turn());
}

// A peer that waits cannot send, so its silence does not end its demand.
TEST_F(CreditTurns, poll__a_peer_that_waits_for_its_turn_keeps_its_demand) {
  busy(kTurnsAtATime);
  for (int round = 0; round < 3; ++round) {
    (void)arrive(round == 0 ? 1000 : kTurnOf41);
    ASSERT_FALSE(has_turn());
    for (int i = 0; i < 100; ++i) {
      ASSERT_FALSE(has_turn()) << i;
      EXPECT_EQ(mine().has_demand, 1) << i;
      now_ += 1ms;
      busy(kTurnsAtATime);
      (void)poll();
    }
    EXPECT_TRUE(has_turn()) << "nobody waits for longer than a lease";
  }
}

TEST_F(CreditTurns, poll__a_lane_that_ends_has_no_limit_and_no_turn) {
  (void)arrive(1000);
  arrivals_.waiting_kib = 0;
  EXPECT_EQ(poll(), (TurnCredit{.window_bytes = 8 * KiB}));
  EXPECT_FALSE(has_turn());
  now_ += 100ms;
  EXPECT_EQ(poll(), (TurnCredit{.window_bytes = 4 * KiB}));
}

TEST_F(CreditTurns, poll__a_lane_that_waited_has_no_limit_once_others_end) {
  busy(kTurnsAtATime);
  (void)arrive(1000);
  crowd_.resize(31);
  for (int i = 31; i < 40; ++i) write_place(*memory_, kCrowdFrom + i, {.polled_at = now_, .demand = false});
  EXPECT_EQ(poll(), (TurnCredit{.window_bytes = 8 * KiB})) << "32 are few enough for windows";
}

TEST_F(CreditTurns, poll__a_new_lane_counts_as_many_turns_as_the_one_that_waits) {
  for (PaperPlace& place : crowd_) place.turns = 1000;
  crowd_[3].turns = 990;
  busy(kTurnsAtATime + 1);
  crowd_[3].turn = false;
  (void)arrive(1000);
  EXPECT_EQ(mine().turns, 990u);
}

TEST_F(CreditTurns, poll__turns_are_compared_across_the_end_of_the_count) {
  for (PaperPlace& place : crowd_) place.turns = ~std::uint32_t{0} - 1;
  take_turns_until_it_waits();
  EXPECT_EQ(mine().turns, 0u) << "two more";
}

TEST_F(CreditTurns, poll__turns_forged_in_a_lanes_own_place_are_ignored) {
  (void)arrive(1000);
  for (const std::uint32_t forged : {5000u, 0u, ~0u}) {
    mine().turns = forged;
    (void)poll();
    EXPECT_EQ(mine().turns, 11u) << forged;
  }
}

// The lane's process stood still while the others had turns. They need not wait until the lane has caught up.
TEST_F(CreditTurns, poll__a_lane_that_was_away_counts_as_many_turns_as_others) {
  busy(kTurnsAtATime);
  (void)arrive(1000);
  ASSERT_FALSE(has_turn());
  ASSERT_EQ(mine().turns, 10u);
  for (PaperPlace& place : crowd_) place.turns = 50;
  now_ += 4ms;
  busy(kTurnsAtATime);
  (void)poll();
  EXPECT_EQ(mine().turns, 10u) << "not away for longer than it may be";
  now_ += 5ms;
  busy(kTurnsAtATime);
  (void)poll();
  EXPECT_EQ(mine().turns, 50u);
}

TEST_F(CreditTurns, poll__a_lane_with_a_turn_is_not_away_before_its_turn_is_over) {
  (void)arrive(1000);
  for (PaperPlace& place : crowd_) place.turns = 50;
  now_ += 7ms;
  busy(kTurnsAtATime);
  (void)poll();
  EXPECT_TRUE(has_turn());
  EXPECT_EQ(mine().turns, 11u);
}

// The lane's last segment announced more data, but another lane carries the rest. The lane still gets turns, which
// nobody uses.
TEST_F(CreditTurns, poll__unused_turns_do_not_keep_up_demand) {
  TurnCredit credit = arrive(1000);
  credit = arrive(credit.limit - arrivals_.position);
  const std::uint32_t before = mine().turns;
  for (int ms = 0; ms < 500 && mine().has_demand; ++ms) {
    now_ += 1ms;
    for (PaperPlace& place : crowd_) place.turns = mine().turns;
    busy(kTurnsAtATime - 1);
    (void)poll();
  }
  EXPECT_GT(mine().turns, before + 5) << "turn after turn";
  EXPECT_EQ(mine().has_demand, 0);
  EXPECT_FALSE(has_turn());
  EXPECT_EQ(lane_.due(), now_ + 99ms) << "and then never";
}

// A lane polls, waits for ever, and never takes a turn: its process is broken, or wants the rail for itself.
TEST_F(CreditTurns, poll__a_forged_place_that_waits_delays_a_turn_by_100_ms) {
  for (PaperPlace& place : crowd_) place.turns = 0;
  take_turns_until_it_waits();
  int begun = 0;
  for (int ms = 0; ms < 1000; ++ms) {
    now_ += 1ms;
    const TurnCredit credit = poll();
    if (!has_turn()) continue;
    ++begun;
    (void)arrive(credit.limit - arrivals_.position);
  }
  EXPECT_GE(begun, 10);
  EXPECT_LE(begun, 21) << "two turns, then 100 ms";
}

// A lane that began while the others stood still may be far ahead of them. It must not have only one turn each 100 ms
// for long.
TEST_F(CreditTurns, poll__a_lane_far_ahead_counts_from_the_others_after_100_ms) {
  mine().turns = 1000;
  busy(0);
  (void)arrive(1000);
  mine().turns = 1000;
  (void)poll();
  if (has_turn()) take_turns_until_it_waits();
  for (int ms = 0; ms < 101; ++ms) now_ += 1ms, busy(0), (void)poll();
  EXPECT_TRUE(has_turn());
  EXPECT_LE(mine().turns, 12u) << "the crowd has had 10";
}

TEST_F(CreditTurns, poll__forged_places_leave_a_lane_one_turn_each_100_ms) {
  crowd_.resize(200, {.polled_at = now_, .turns = 10});
  busy(200);
  (void)arrive(1000);
  for (int ms = 0; ms < 1000; ++ms) {
    now_ += 1ms;
    busy(200);
    const TurnCredit credit = poll();
    if (has_turn()) (void)arrive(credit.limit - arrivals_.position);
  }
  EXPECT_GE(mine().turns, 19u) << "from 10 on";
}

// Lanes begin one after the other, each with a turn at once. A lane does not count one turn more than the lane before.
TEST_F(CreditTurns, poll__a_new_lane_is_not_ahead_where_no_lane_waits) {
  busy(int(crowd_.size()));
  crowd_[3].turns = 20;
  (void)arrive(1000);
  EXPECT_EQ(mine().turns, 19u);
}

constexpr Nanos kSmallestTurn{8 * PaperPort::kPacketTime / 4};  // 8 KiB at 1 Gb/s

class PortCreditTurns : public testing::TestWithParam<int> {
 protected:
  // All senders begin at once. The measurement begins 200 ms later, when they share the rail.
  PortCreditTurns() {
    port_.add(GetParam());
    port_.run(200ms);
    port_.forget();
  }

  PaperPort port_{std::make_shared<RailAccount>(), kTurnsTime};
};

TEST_P(PortCreditTurns, poll__all_senders_have_equal_shares_and_the_rail_is_busy) {
  port_.run(1s);
  EXPECT_GT(port_.jains_index(), 0.99);
  EXPECT_LT(port_.longest_pause(), std::max<Nanos>(25ms, 3 * kSmallestTurn * GetParam())) << "about two rounds";
  EXPECT_LT(port_.most_queued_bytes, 384 * KiB);
  EXPECT_GT(port_.goodput(), 0.999);
}

TEST_P(PortCreditTurns, poll__senders_that_stand_still_delay_no_other) {
  for (std::size_t i = 0; i < 10; ++i) port_.senders[i].stands_still = true;
  port_.run(1s);
  double least = 1e18, most = 0;
  for (std::size_t i = 10; i < port_.senders.size(); ++i) {
    least = std::min(least, double(port_.senders[i].arrived_bytes));
    most = std::max(most, double(port_.senders[i].arrived_bytes));
  }
  EXPECT_GT(least, 0.8 * most);
  EXPECT_GT(port_.goodput(), 0.98);
}

INSTANTIATE_TEST_SUITE_P(Senders, PortCreditTurns, testing::Values(33, 40, 80, 160, 255));

}  // namespace
}  // namespace railweave::engine

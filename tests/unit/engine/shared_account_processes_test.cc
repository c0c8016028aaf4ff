// Processes that share one rail's account, and are killed, stopped and forked.
#include <gtest/gtest.h>
#include <signal.h>

#include <ostream>
#include <string>
#include <utility>

#include "tests/unit/engine/account_process.h"

namespace railweave::engine {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kTurnsWorth = 3 * kTurnMost;
constexpr int kManyLanes = 40;  // lanes of each of two processes; more than may have a turn at a time

int rail_of_this_test() { return 2'000'000 + ::getpid(); }  // greater than any index of an interface

// Evaluates `condition` until it holds. Returns false after 20 s.
bool in_the_end(const std::function<bool()>& condition) {
  for (const TimePoint end = now() + 20s; !condition(); std::this_thread::sleep_for(1ms)) {
    if (now() >= end) return false;
  }
  return true;
}

// A process that the test's child forked. The destructor kills the process.
class Stranger {
 public:
  explicit Stranger(pid_t pid) : pid_(pid) {}
  ~Stranger() { end(); }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;
  bool lives() const { return pid_ > 0 && ::kill(pid_, 0) == 0; }
  void end() {
    if (pid_ > 0) ::kill(pid_, SIGKILL);
    pid_ = -1;
  }

 private:
  pid_t pid_;
};

class AccountProcesses : public testing::Test {
 protected:
  using Processes = std::deque<AccountProcess>;

  // Starts processes one after the other, each with one lane more than the one before. Returns true if all share one
  // account and the first process serves it.
  bool start(int number) {
    int lanes = 0;
    for (int i = 1; i <= number; ++i) {
      AccountProcess& added = processes_.emplace_back(rail_of_this_test());
      lanes += i;
      if (!in_the_end([&] { return added.poll(i).is_served || i == 1; })) return false;
      if (!in_the_end([&] { return see(lanes, lanes); })) return false;
    }
    return processes_[0].poll().serves;
  }
  // Polls all processes. Returns true if each sees `lanes` lanes, of which `senders` have demand.
  bool see(int lanes, int senders) {
    bool all = true;
    for (AccountProcess& each : processes_) {
      const RailLoad load = each.poll().load;
      all = all && load.lanes == lanes && load.demanding == senders;
    }
    return all;
  }
  int serving() {
    int serving = 0;
    for (AccountProcess& each : processes_) serving += each.poll().serves;
    return serving;
  }
  // Kills the first process, which frees none of its places.
  void kill_first() {
    processes_.front().process().kill(SIGKILL);
    EXPECT_EQ(processes_.front().process().wait(), -SIGKILL);
    processes_.pop_front();
  }

  Processes processes_;
};

TEST_F(AccountProcesses, open__two_see_each_others_lanes_and_senders) {
  EXPECT_TRUE(start(2));
  EXPECT_EQ(processes_[1].poll().used, 3);
}

TEST_F(AccountProcesses, open__three_see_each_others_lanes_and_senders) {
  EXPECT_TRUE(start(3));
  EXPECT_EQ(serving(), 1);
}

// The lanes of a process that does not poll have no demand once their leases are over.
TEST_F(AccountProcesses, poll__the_others_see_when_one_of_three_does_not_poll) {
  ASSERT_TRUE(start(3));
  EXPECT_TRUE(in_the_end([&] {
    (void)processes_[0].poll();
    return processes_[1].poll().load.demanding == 3;
  })) << "the leases of the third one's three lanes are over";
  EXPECT_EQ(processes_[0].poll().load.lanes, 6);
  EXPECT_TRUE(in_the_end([&] { return see(6, 6); }));
}

TEST_F(AccountProcesses, killed_server_is_replaced_and_the_memory_stays) {
  ASSERT_TRUE(start(3));
  EXPECT_TRUE(processes_[0].act({.what = AccountOrder::run, .until_bytes = kTurnsWorth}).has_ended);
  const AccountReport before = processes_[1].poll();
  (void)processes_[2].poll();
  EXPECT_GE(before.load.arrived_bytes, kTurnsWorth);
  kill_first();
  const TimePoint killed_at = now();
  EXPECT_TRUE(in_the_end([&] { return serving() == 1; }));
  EXPECT_LT(now() - killed_at, 5s)
      << "the others try again soon after they dialled the one that ends: in 0.1 s where there are cores";
  for (AccountProcess& each : processes_) {
    const AccountReport after = each.poll();
    EXPECT_TRUE(after.same_memory);
    EXPECT_EQ(after.used, 6);
    EXPECT_EQ(after.load.lanes, 6) << "for a minute";
    EXPECT_GE(after.load.arrived_bytes, before.load.arrived_bytes);
  }
  EXPECT_TRUE(in_the_end([&] { return see(6, 5); })) << "the lease of its lane is over";
}

TEST_F(AccountProcesses, killed_server_leaves_its_memory_to_a_later_process) {
  ASSERT_TRUE(start(2));
  kill_first();
  // Otherwise the new process might be the first to serve, with a memory of its own.
  ASSERT_TRUE(in_the_end([&] { return serving() == 1; }));
  processes_.emplace_back(rail_of_this_test());
  EXPECT_TRUE(in_the_end([&] {
    (void)processes_[1].poll(1);
    return see(4, 3);
  }));
  EXPECT_EQ(serving(), 1);
}

TEST_F(AccountProcesses, killed_servers_are_replaced_until_one_process_is_left) {
  ASSERT_TRUE(start(3));
  kill_first();
  ASSERT_TRUE(in_the_end([&] { return serving() == 1; }));
  kill_first();
  ASSERT_TRUE(in_the_end([&] { return serving() == 1; }));
  EXPECT_TRUE(in_the_end([&] { return see(6, 3); }));
}

TEST_F(AccountProcesses, stopped_server_leaves_a_new_process_alone_until_it_is_back) {
  ASSERT_TRUE(start(2));
  processes_[0].process().stop();
  EXPECT_TRUE(in_the_end([&] { return processes_[1].poll().load.demanding == 2; })) << "the lease of its lane is over";
  AccountProcess late{rail_of_this_test()};
  const AccountReport report = late.act({.what = AccountOrder::run, .lanes = kManyLanes, .until_bytes = kTurnsWorth});
  EXPECT_TRUE(report.has_ended);
  EXPECT_FALSE(report.serves || report.is_served);
  EXPECT_LT(report.waited_longest, LaneTurns::kWaitMost);
  EXPECT_EQ(report.load.lanes, kManyLanes);
  processes_[0].process().kill(SIGCONT);
  EXPECT_TRUE(in_the_end([&] { return late.poll().is_served; }));
  EXPECT_TRUE(in_the_end([&] {
    (void)late.poll();
    return see(3 + kManyLanes, 3 + kManyLanes);
  }));
}

TEST_F(AccountProcesses, stopped_process_with_turns_delays_others_by_a_lease_at_most) {
  ASSERT_TRUE(start(2));
  const AccountOrder run{
      .what = AccountOrder::run, .lanes = kManyLanes, .until_bytes = 16 * kTurnMost, .is_announced = true};
  for (AccountProcess& each : processes_) each.begin(run);
  for (AccountProcess& each : processes_) (void)each.end();
  processes_[0].process().stop();
  const AccountReport other = processes_[1].end();
  EXPECT_TRUE(other.has_ended);
  EXPECT_LT(other.waited_longest, LaneTurns::kWaitMost);
  processes_[0].process().kill(SIGCONT);
  const AccountReport itself = processes_[0].end();
  EXPECT_TRUE(itself.has_ended);
  EXPECT_TRUE(in_the_end([&] { return see(2 * kManyLanes, 2 * kManyLanes); }));
}

TEST_F(AccountProcesses, forked_child_does_not_keep_its_parents_service_alive) {
  ASSERT_TRUE(start(2));
  Stranger sleeper(processes_[0].act({.what = AccountOrder::fork}).forked);
  kill_first();
  EXPECT_TRUE(in_the_end([&] { return serving() == 1; }));
  EXPECT_TRUE(sleeper.lives());
  EXPECT_TRUE(in_the_end([&] { return see(3, 2); }));
}

TEST_F(AccountProcesses, forked_child_that_ends_leaves_its_parents_places) {
  ASSERT_TRUE(start(2));
  for (const int parent : {0, 1}) {
    Stranger sleeper(processes_[std::size_t(parent)].act({.what = AccountOrder::fork}).forked);
    ASSERT_TRUE(sleeper.lives());
    EXPECT_TRUE(in_the_end([&] { return see(3, 3); })) << parent;
    sleeper.end();
    EXPECT_TRUE(in_the_end([&] { return see(3, 3); })) << parent;
  }
  EXPECT_TRUE(processes_[0].poll().serves);
  EXPECT_TRUE(processes_[1].poll().is_served);
  EXPECT_EQ(processes_[0].poll().used, 3) << "all have the places that they had";
}

struct ForgedCase {
  std::string name;
  Forgery forgery;
  friend void PrintTo(const ForgedCase& forged, std::ostream* out) { *out << forged.name; }
};

class ForgedAccounts : public testing::TestWithParam<ForgedCase> {};

// A third process writes all over the memory meanwhile, as fast as it can.
TEST_P(ForgedAccounts, poll__no_lane_waits_longer_than_a_lease) {
  AccountProcess a{rail_of_this_test()}, b{rail_of_this_test()}, forger{rail_of_this_test()};
  const auto is_in = [](AccountProcess& process) {
    const AccountReport report = process.poll();
    return report.serves || report.is_served;
  };
  ASSERT_TRUE(in_the_end([&] { return is_in(a) && is_in(b) && is_in(forger); }));
  forger.begin({.what = AccountOrder::forge, .forgery = GetParam().forgery});
  const AccountOrder run{.what = AccountOrder::run, .lanes = 1, .until_bytes = kTurnsWorth};
  for (AccountProcess* each : {&a, &b}) each->begin(run);
  for (AccountProcess* each : {&a, &b}) {
    const AccountReport report = each->end();
    EXPECT_TRUE(report.has_ended);
    EXPECT_LT(report.waited_longest, LaneTurns::kWaitMost);
    EXPECT_GE(report.window_least, 4 * KiB);
  }
  forger.process().kill(SIGKILL);
  EXPECT_EQ(forger.process().wait(), -SIGKILL);
}

constexpr std::uint32_t kHalfOfTurns = 1u << 31;
INSTANTIATE_TEST_SUITE_P(
    All, ForgedAccounts,
    testing::Values(ForgedCase{"noise", {.is_noise = true}}, ForgedCase{"no_place_used", {.used = 0}},
                    ForgedCase{"all_places_and_more_used", {.used = std::numeric_limits<int>::max()}},
                    ForgedCase{"less_than_no_place_used", {.used = std::numeric_limits<int>::min()}},
                    ForgedCase{"all_places_taken", {}}, ForgedCase{"all_others_wait", {.every = 2}},
                    ForgedCase{"all_others_have_turns", {.turn = Forgery::has, .every = 2}},
                    ForgedCase{"turns_used_in_future", {.turn = Forgery::used_in_future, .every = 2}},
                    ForgedCase{"turns_by_halves_of_the_range", {.turns = kHalfOfTurns, .every = 2}},
                    ForgedCase{"turns_a_little_more_than_half",
                               {.turn = Forgery::has, .turns = kHalfOfTurns + 1, .every = 3}},
                    ForgedCase{"places_of_the_honest_freed", {.lease = Forgery::never}},
                    ForgedCase{"leases_over", {.lease = Forgery::past}},
                    ForgedCase{"leases_too_long", {.lease = Forgery::soon}},
                    ForgedCase{"leases_far_off", {.lease = Forgery::far}},
                    ForgedCase{"leases_without_end", {.lease = Forgery::last}},
                    ForgedCase{"leases_before_time", {.lease = Forgery::first}},
                    ForgedCase{"arrived_2_to_the_63", {.arrived_bytes = 1ULL << 63, .every = 2}},
                    ForgedCase{"shortest_round_trip", {.min_rtt_us = 1, .every = 2}},
                    ForgedCase{"longest_round_trip", {.min_rtt_us = ~0u, .every = 2}}),
    [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace railweave::engine

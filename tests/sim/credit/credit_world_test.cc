// Many hosts share their NICs by credit windows (docs/internals/credit_windows.md): no lane starves, queues are
// bounded, and all that was posted arrives.
#include "tests/sim/credit/credit_world.h"

#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "tests/sim/credit/credit_lane.h"

namespace railweave::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kForEver = 1ULL << 40;
constexpr Rate kGigabit = Rate::from_megabits(1000), kTenGigabit = Rate::from_megabits(10'000),
               kTwentyFiveGigabit = Rate::from_megabits(25'000);

// Bytes that the senders to one host may have under way: their windows, or their turns and half as much again, for
// turns that end while their last bytes are under way.
std::uint64_t queue_bound(Rate rate, int senders) {
  const double target = rate.bytes_in(450us);
  const double windows = std::max(target, double(senders) * double(engine::kShareLeast));
  const double turns = 1.5 * std::max(engine::kQueuesMost * target, double(engine::kBufferLeast));
  return std::uint64_t(std::min(windows, turns)) + 64 * KiB;
}

// A round of the smallest turns or windows, 10 ms at least.
Nanos round_of(Rate rate, int senders) {
  return std::max<Nanos>(10ms, rate.time_for(double(senders) * double(engine::kShareLeast)));
}

double jains_index(const CreditWorld& world, int to) {
  double sum = 0, squares = 0, count = 0;
  for (const auto& lane : world.lanes()) {
    if (lane->to() != to) continue;
    const double bytes = double(lane->arrived_bytes());
    sum += bytes, squares += bytes * bytes, ++count;
  }
  return sum * sum / (count * squares);
}

Nanos longest_gap(const CreditWorld& world, int from_host = 0) {
  Nanos longest{0};
  for (const auto& lane : world.lanes())
    if (lane->is_open() && lane->from() >= from_host) longest = std::max(longest, lane->longest_gap(world.now()));
  return longest;
}

double busy(const CreditWorld& world, int host, Rate rate, Nanos time) {
  return double(world.port(host).bytes()) / rate.bytes_in(time);
}

struct Incast {
  const char* name;
  int senders;
  Rate rate;
  bool kernel_holds = true;
  Nanos wakes_in_most = 60us;
  friend void PrintTo(const Incast& incast, std::ostream* out) { *out << incast.name; }
};

class AllToOne : public testing::TestWithParam<Incast> {
 protected:
  // All senders begin at once. Measuring begins when they share the rail.
  AllToOne() {
    for (int sender = 1; sender <= GetParam().senders; ++sender) world_.post(world_.connect(sender, 0), kForEver);
    world_.run(100ms);
    queued_at_the_begin_ = world_.port(0).most_queued_bytes();
    world_.run(200ms);
    world_.forget();
  }

  bool takes_turns() const { return GetParam().rate == kGigabit && GetParam().senders > 32; }

  CreditWorld world_{{.hosts = GetParam().senders + 1,
                      .rate = GetParam().rate,
                      .kernel_holds = GetParam().kernel_holds,
                      .wakes_in_most = GetParam().wakes_in_most}};
  std::uint64_t queued_at_the_begin_ = 0;
};

TEST_P(AllToOne, all_have_their_share_and_the_queue_is_bounded) {
  const auto [name, senders, rate, holds, wakes] = GetParam();
  world_.run(400ms);
  EXPECT_GT(jains_index(world_, 0), 0.99);
  EXPECT_GT(busy(world_, 0, rate, 400ms), wakes < 5ms ? 0.99 : 0.7)
      << "processes that run each 5 ms at most leave the rail idle";
  EXPECT_LT(longest_gap(world_), takes_turns() ? 4 * round_of(rate, senders) : 10ms);
  EXPECT_LE(world_.port(0).most_queued_bytes(), queue_bound(rate, senders));
}

TEST_P(AllToOne, at_the_begin_each_sender_queues_little_beyond_one_window) {
  EXPECT_LE(queued_at_the_begin_, std::uint64_t(GetParam().senders) * 24 * KiB + 256 * KiB);
}

INSTANTIATE_TEST_SUITE_P(
    , AllToOne,
    testing::Values(
        Incast{"of_2_by_1_gigabit", 2, kGigabit}, Incast{"of_8_by_1_gigabit", 8, kGigabit},
        Incast{"of_8_told_by_windows_alone", 8, kGigabit, false}, Incast{"of_32_by_1_gigabit", 32, kGigabit},
        Incast{"of_32_of_slow_processes", 32, kGigabit, true, 5ms}, Incast{"of_40_in_turns", 40, kGigabit},
        Incast{"of_40_in_turns_told_by_windows_alone", 40, kGigabit, false}, Incast{"of_80_in_turns", 80, kGigabit},
        Incast{"of_80_in_turns_of_slow_processes", 80, kGigabit, true, 2ms}, Incast{"of_160_in_turns", 160, kGigabit},
        Incast{"of_255_in_turns", 255, kGigabit}, Incast{"of_255_in_turns_of_slow_processes", 255, kGigabit, true, 2ms},
        Incast{"of_255_by_10_gigabit", 255, kTenGigabit}, Incast{"of_255_by_25_gigabit", 255, kTwentyFiveGigabit}),
    [](const auto& param) { return std::string(param.param.name); });

// Half of the receiving processes stand still, and come back with fewer turns than the others have had.
TEST(Receivers, that_come_back_keep_nobody_waiting) {
  constexpr int kSenders = 80;
  CreditWorld world({.hosts = kSenders + 1, .rate = kGigabit});
  for (int sender = 1; sender <= kSenders; ++sender) world.post(world.connect(sender, 0), kForEver);
  for (int time = 0; time < 5; ++time) {
    world.run(300ms);
    for (int i = 0; i < kSenders / 2; ++i) world.pause_receiver(*world.lanes()[std::size_t(i)], 60ms);
    world.run(60ms);
    world.forget();
    world.run(300ms);
    EXPECT_LT(longest_gap(world), 4 * round_of(kGigabit, kSenders));
    EXPECT_GT(jains_index(world, 0), 0.98);
    EXPECT_LE(world.port(0).most_queued_bytes(), queue_bound(kGigabit, kSenders));
  }
}

// All processes stand still at once, for longer than a lease. Each of them then finds the leases of all others expired.
TEST_P(AllToOne, after_all_stood_still_at_once_all_have_their_share) {
  const auto [name, senders, rate, holds, wakes] = GetParam();
  for (int time = 0; time < 3; ++time) {
    for (int host = 0; host <= senders; ++host) world_.pause(host, 700ms);
    world_.run(700ms);
    world_.forget();
    world_.run(200ms);
    EXPECT_GT(jains_index(world_, 0), 0.95);
    EXPECT_LE(world_.port(0).most_queued_bytes(), queue_bound(rate, senders) + std::uint64_t(senders) * 16 * KiB);
  }
}

// All senders stop at once, though each lane's last segment announced more.
TEST(Senders, that_fall_silent_have_no_demand_for_long) {
  constexpr int kSenders = 80;
  CreditWorld world({.hosts = kSenders + 1, .rate = kGigabit});
  for (int sender = 1; sender <= kSenders; ++sender) world.post(world.connect(sender, 0), kForEver);
  world.run(300ms);
  for (int sender = 1; sender <= kSenders; ++sender) world.pause(sender, 10min);
  world.run(5s);
  EXPECT_EQ(engine::load_of(world.account(0).memory(), world.now()).demanding, 0);
}

TEST(AllToAll, of_256_hosts_all_have_their_share) {
  constexpr int kHosts = 256;
  CreditWorld world({.hosts = kHosts, .rate = kTenGigabit});
  for (int from = 0; from < kHosts; ++from)
    for (int to = 0; to < kHosts; ++to)
      if (from != to) world.post(world.connect(from, to), kForEver);
  world.run(14ms);  // until the larger windows of lanes that were alone for a moment are used up
  world.forget();
  world.run(8ms);
  for (int host = 0; host < kHosts; ++host) {
    ASSERT_GT(jains_index(world, host), 0.6) << host;
    ASSERT_GT(busy(world, host, kTenGigabit, 8ms), 0.9) << host;
    ASSERT_LE(world.port(host).most_queued_bytes(), queue_bound(kTenGigabit, kHosts - 1)) << host;
  }
  EXPECT_LT(longest_gap(world), 10ms);
}

// Lanes come and go, and senders post at times; some processes stand still for up to 30 ms at a time.
struct Trouble {
  const char* name;
  CreditOptions options;
  friend void PrintTo(const Trouble& trouble, std::ostream* out) { *out << trouble.name; }
};

class ComeAndGo : public testing::TestWithParam<Trouble> {
 protected:
  int hosts() const { return GetParam().options.hosts; }
  int any(int below) { return std::uniform_int_distribution<>(0, below - 1)(world_.random()); }
  // Connects any host to one of few receivers, whose processes never stand still.
  void connect() {
    const int from = any(hosts()),
              to = GetParam().options.pausing + any(GetParam().options.pausing > 0 ? 4 : hosts() / 8);
    if (from != to) lanes_.push_back(&world_.connect(from, to));
  }
  void some_come_some_go_and_some_post() {
    for (int i = 0; i < hosts() / 16 + 1; ++i) connect();
    for (int i = 0; i < hosts() / 32 && lanes_.size() > std::size_t(hosts()); ++i) {
      const std::size_t gone = std::size_t(any(int(lanes_.size())));
      world_.disconnect(*lanes_[gone]);
      lanes_.erase(lanes_.begin() + std::ptrdiff_t(gone));
    }
    for (CreditLane* lane : lanes_)
      if (any(3) == 0 && lane->waiting_bytes() == 0) world_.post(*lane, std::uint64_t(1 + any(256)) * KiB);
  }
  std::uint64_t left() const {
    std::uint64_t bytes = 0;
    for (const CreditLane* lane : lanes_) bytes += lane->waiting_bytes() + lane->under_way();
    return bytes;
  }

  CreditWorld world_{GetParam().options};
  std::vector<CreditLane*> lanes_;
};

TEST_P(ComeAndGo, all_that_was_posted_arrives) {
  for (int step = 0; step < 150; ++step) {
    some_come_some_go_and_some_post();
    world_.run(10ms);
  }
  // The rest takes 20 s at most.
  for (int wait = 0; wait < 400 && left() > 0; ++wait) world_.run(50ms);
  EXPECT_EQ(left(), 0u);
}

TEST_P(ComeAndGo, a_lane_that_has_more_to_send_is_never_forgotten) {
  for (int step = 0; step < 100; ++step) {
    some_come_some_go_and_some_post();
    world_.run(10ms);
    const Nanos silent = longest_gap(world_, GetParam().options.pausing);
    world_.forget();
    ASSERT_LT(silent, 200ms) << "of lanes whose processes run, after " << step;
  }
}

INSTANTIATE_TEST_SUITE_P(
    , ComeAndGo,
    testing::Values(
        Trouble{"of_256_hosts", {.hosts = 256}}, Trouble{"told_by_windows_alone", {.hosts = 64, .kernel_holds = false}},
        Trouble{"by_late_statements", {.hosts = 64, .late = 0.3, .twice = 0.2}},
        Trouble{"by_late_statements_alone", {.hosts = 64, .kernel_holds = false, .late = 0.3, .twice = 0.2}},
        Trouble{"by_lost_statements", {.hosts = 64, .kernel_holds = false, .lost = 0.3}},
        Trouble{"beside_processes_that_stand_still", {.hosts = 64, .late = 0.1, .lost = 0.1, .pausing = 8}},
        Trouble{"by_clocks_of_different_speed", {.hosts = 64, .pausing = 8, .clocks_apart = 0.05}},
        Trouble{"by_slow_rails",
                {.hosts = 256, .rate = Rate::from_megabits(100), .late = 0.1, .lost = 0.1, .clocks_apart = 0.01}}),
    [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace railweave::sim

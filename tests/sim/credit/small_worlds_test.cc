// Credit windows in worlds so small that every order of events can be tried: three lanes beside 40 others that take
// turns, and statements that arrive in any order.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "engine/credit/lane_share.h"
#include "protocol/credit_window.h"
#include "tests/unit/engine/paper_account.h"

namespace railweave::engine {
namespace {

using namespace std::chrono_literals;
using SmallCredit = LaneShare::Credit;

constexpr int kSmallLanes = 3, kSmallCrowd = 40, kSmallBusy = 30, kSmallDepth = 5;
constexpr Rate kSmallRate = Rate::from_megabits(1000);

// A rail that three real lanes share with a crowd: 40 places of other lanes, which the test writes. As many of the
// crowd as may have turns have them, in rotation. Each lane's sender always has more to send. All that a lane may send
// arrives by arrive().
class SmallWorld {
 public:
  SmallWorld() {
    for (auto& lane : lanes_) lane.emplace(std::make_shared<RailAccount>(memory_), kSmallRate);
    move_crowd();
    for (int i = 0; i < kSmallLanes; ++i) arrive(i, 1000);
  }

  static constexpr int kActs = 3 * kSmallLanes + 2;
  void act(int what) {
    const int lane = what % kSmallLanes;
    if (what < kSmallLanes) return poll(lane);
    if (what < 2 * kSmallLanes) return arrive(lane, allowed(lane));
    if (what < 3 * kSmallLanes) return begin_anew(lane);
    pass(what == 3 * kSmallLanes ? Nanos(1ms) : Nanos(6ms));
  }
  // All processes run: each millisecond, what each lane may send arrives, and the lane polls.
  void run_fairly(int ms) {
    for (; ms > 0; --ms) {
      pass(1ms);
      for (int i = 0; i < kSmallLanes; ++i) arrive(i, allowed(i));
    }
  }
  std::uint64_t allowed(int lane) const {
    const SmallCredit& credit = credits_[std::size_t(lane)];
    return credit.limit == SmallCredit::kNone ? kShareLeast : credit.limit - arrivals_[std::size_t(lane)].position;
  }
  std::uint64_t arrived(int lane) const { return arrivals_[std::size_t(lane)].position; }
  RailLoad load() const { return load_of(*memory_, now_); }

 private:
  void poll(int i) { credits_[std::size_t(i)] = lanes_[std::size_t(i)]->poll(now_, arrivals_[std::size_t(i)], 100us); }
  void arrive(int i, std::uint64_t bytes) {
    LaneShare::Arrivals& arrivals = arrivals_[std::size_t(i)];
    arrivals.position += bytes;
    arrivals.segments += bytes > 0;
    arrivals.waiting_kib = 100;
    poll(i);
  }
  void begin_anew(int i) {
    lanes_[std::size_t(i)].emplace(std::make_shared<RailAccount>(memory_), kSmallRate);
    arrivals_[std::size_t(i)] = {};
    credits_[std::size_t(i)] = {};
    arrive(i, 1000);
  }
  void pass(Nanos time) {
    now_ += time;
    move_crowd();
  }
  // 30 places of the crowd have turns, in rotation. Two turns are left for the three lanes.
  void move_crowd() {
    ++moves_;
    for (int i = 0; i < kSmallCrowd; ++i) {
      const bool turn = (i + int(moves_) * kSmallBusy) % kSmallCrowd < kSmallBusy;
      crowd_turns_[std::size_t(i)] += turn;
      write_place(*memory_, kSmallLanes + i, {.polled_at = now_, .turn = turn, .turns = crowd_turns_[std::size_t(i)]});
    }
  }

  std::shared_ptr<AccountMemory> memory_ = std::make_shared<AccountMemory>();
  std::array<std::optional<LaneShare>, kSmallLanes> lanes_;
  std::array<LaneShare::Arrivals, kSmallLanes> arrivals_;
  std::array<SmallCredit, kSmallLanes> credits_;
  std::array<std::uint32_t, kSmallCrowd> crowd_turns_{};
  unsigned moves_ = 0;
  TimePoint now_{1h};
};

class AllOrders : public testing::Test {
 protected:
  // Calls `judge` with a world after each sequence of kSmallDepth acts.
  template <typename Judge>
  void try_all(Judge judge) {
    std::array<int, kSmallDepth> acts{};
    for (bool more = true; more && !HasFatalFailure();) {
      SmallWorld world;
      for (const int act : acts) world.act(act);
      judge(world, testing::PrintToString(acts));
      more = false;
      for (int& act : acts)
        if (more = ++act < SmallWorld::kActs; more)
          break;
        else
          act = 0;
    }
  }
};

TEST_F(AllOrders, lanes_share_only_free_turns_and_all_get_one_within_a_lease) {
  try_all([](SmallWorld& world, const std::string& acts) {
    for (int i = 0; i < kSmallLanes; ++i) ASSERT_LE(world.allowed(i), kTurnMost) << "lane " << i << " after " << acts;
    ASSERT_LE(world.load().turns_held, kSmallBusy + kSmallLanes) << acts;
    ASSERT_EQ(world.load().lanes, kSmallLanes + kSmallCrowd) << acts;
    std::array<std::uint64_t, kSmallLanes> before{};
    for (int i = 0; i < kSmallLanes; ++i) before[std::size_t(i)] = world.arrived(i);
    world.run_fairly(40);
    for (int i = 0; i < kSmallLanes; ++i)
      ASSERT_GE(world.arrived(i), before[std::size_t(i)] + 8 * KiB) << "lane " << i << " after " << acts;
  });
}

// Editions 1 to 6 in every order, and one of them again at the end.
TEST(AllStatements, the_last_edition_stands_in_whatever_order_they_come) {
  std::array<std::uint64_t, 6> editions{};
  std::iota(editions.begin(), editions.end(), std::uint64_t{1});
  do {
    for (std::size_t twice = 0; twice < editions.size(); ++twice) {
      protocol::CreditWindow window;
      std::uint64_t highest = 0;
      for (std::size_t i = 0; i <= editions.size(); ++i) {
        const std::uint64_t edition = i < editions.size() ? editions[i] : editions[twice];
        window.apply(edition, {.window_bytes = edition * KiB, .limit = 1000 * edition});
        highest = std::max(highest, edition);
        ASSERT_EQ(window.standing(), (protocol::Credit{.window_bytes = highest * KiB, .limit = 1000 * highest}));
      }
    }
  } while (std::ranges::next_permutation(editions).found);
}

// Extreme windows and limits, in all combinations of three values: the sender never sends more than they allow, and
// always sends something within a second.
TEST(AllStatements, a_sender_sends_within_a_second_and_never_beyond_its_bounds) {
  constexpr std::array<std::uint64_t, 7> kEdges{0, 1, 191, 192, 1ULL << 63, ~0ULL - 1, ~0ULL};
  TimePoint now{1h};
  for (const std::uint64_t window : kEdges)
    for (const std::uint64_t limit : kEdges)
      for (const std::uint64_t next : kEdges) {
        protocol::CreditWindow credit;
        credit.apply(1, {.window_bytes = window, .limit = limit});
        std::uint64_t position = 0;
        for (int ms = 0; ms < 1001; ++ms, now += 1ms) {
          if (ms == 500) credit.apply(2, {.window_bytes = next, .limit = limit});
          credit.observe(now, position, true);
          const protocol::Credit stands = credit.standing();
          const std::uint64_t room = credit.room(0, position);
          ASSERT_LE(room, stands.window_bytes);
          ASSERT_LE(room, stands.limit == protocol::Credit::kNone ? stands.limit
                                                                  : stands.limit - std::min(stands.limit, position));
          if (room < protocol::CreditWindow::kLeastBytes) continue;
          position += 192;
          credit.took();
        }
        credit.observe(now += 1s, position, true);
        ASSERT_TRUE(position > 0 || credit.room(0, position) >= protocol::CreditWindow::kLeastBytes)
            << window << ' ' << limit << ' ' << next;
      }
}

}  // namespace
}  // namespace railweave::engine

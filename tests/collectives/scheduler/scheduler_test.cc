#include "collectives/scheduler/scheduler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace railweave::collectives_test {
namespace {

using collectives::Scheduler;
using collectives::Window;
constexpr TimePoint kStart{std::chrono::seconds(1)};
constexpr TimePoint kLate = kStart + Scheduler::kStallMost;

// A Scheduler that counts the issued bytes itself, in the order of the calls.
class Issuing : public Scheduler {
 public:
  using Scheduler::Scheduler;
  Id issue(QueueId line, Priority priority, std::size_t bytes, TimePoint now, Lead lead = {}) {
    return Scheduler::issue(line, priority, bytes, std::exchange(issued_bytes_, issued_bytes_ + bytes), now, lead);
  }

 private:
  std::uint64_t issued_bytes_ = 0;
};

TEST(Scheduler, off__everything_is_live) {
  Issuing scheduler;
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(scheduler.live(scheduler.issue(1, Priority::bulk, 1024 * MiB, kStart)));
  EXPECT_EQ(scheduler.held(), 0u);
}

TEST(Scheduler, window_of_operations__as_many_and_the_next_when_one_is_over) {
  Issuing scheduler({.operations = 2});
  const auto a = scheduler.issue(1, Priority::normal, MiB, kStart),
             b = scheduler.issue(1, Priority::normal, MiB, kStart),
             c = scheduler.issue(1, Priority::normal, MiB, kStart);
  EXPECT_TRUE(scheduler.live(a) && scheduler.live(b));
  EXPECT_FALSE(scheduler.live(c));
  scheduler.finish(b, kStart);
  EXPECT_TRUE(scheduler.live(c));
}

TEST(Scheduler, window_of_bytes__is_never_exceeded_but_by_one_alone) {
  Issuing scheduler({.bytes = 10 * MiB});
  const auto large = scheduler.issue(1, Priority::normal, 64 * MiB, kStart),
             small = scheduler.issue(1, Priority::normal, MiB, kStart);
  EXPECT_TRUE(scheduler.live(large));
  EXPECT_FALSE(scheduler.live(small));
  EXPECT_EQ(scheduler.live_bytes(), 64 * MiB);
  scheduler.finish(large, kStart);
  EXPECT_TRUE(scheduler.live(small));
  const auto nine = scheduler.issue(1, Priority::normal, 9 * MiB, kStart),
             one = scheduler.issue(1, Priority::normal, MiB, kStart);
  EXPECT_TRUE(scheduler.live(nine));
  EXPECT_FALSE(scheduler.live(one));
  EXPECT_EQ(scheduler.live_bytes(), 10 * MiB);
}

// A smaller operation waits behind a larger one that does not fit, though there is room for the smaller one.
TEST(Scheduler, window_of_bytes__nothing_slips_past_what_does_not_fit) {
  Issuing scheduler({.bytes = 10 * MiB});
  scheduler.issue(1, Priority::normal, 6 * MiB, kStart);
  const auto large = scheduler.issue(1, Priority::normal, 6 * MiB, kStart),
             small = scheduler.issue(2, Priority::normal, MiB, kStart);
  EXPECT_FALSE(scheduler.live(large) || scheduler.live(small));
}

TEST(Scheduler, an_urgent_operation__takes_the_place_of_a_bulk_one) {
  Issuing scheduler({.operations = 1});
  const auto bulk = scheduler.issue(1, Priority::bulk, MiB, kStart);
  EXPECT_TRUE(scheduler.live(bulk));
  const auto urgent = scheduler.issue(2, Priority::urgent, MiB, kStart);
  EXPECT_TRUE(scheduler.live(urgent));
  EXPECT_FALSE(scheduler.live(bulk));
  scheduler.finish(urgent, kStart);
  EXPECT_TRUE(scheduler.live(bulk));
}

TEST(Scheduler, an_urgent_operation__goes_ahead_of_held_ones_however_large) {
  for (const Window window : {Window{.operations = 1}, Window{.operations = 2}, Window{.bytes = 64 * MiB}}) {
    Issuing scheduler(window);
    Scheduler::Id normal = 0;
    for (int k = 0; k < 4; ++k) normal = scheduler.issue(1, Priority::normal, 512 * MiB, kStart);
    EXPECT_FALSE(scheduler.live(normal));
    const auto urgent = scheduler.issue(2, Priority::urgent, 512 * MiB, kStart);
    const auto order = scheduler.standings();
    const auto place = [&](Scheduler::Id id) {
      return std::ranges::find(order, id, &Scheduler::Standing::id) - order.begin();
    };
    EXPECT_LT(place(urgent), place(normal)) << window.operations << " operations, " << window.bytes << " bytes";
  }
}

TEST(Scheduler, a_bulk_operation__does_not_wait_for_ever) {
  Issuing scheduler({.bytes = MiB});
  const auto bulk = scheduler.issue(1, Priority::bulk, MiB, kStart);
  int overtaken = 0;
  for (; overtaken < 100; ++overtaken) {
    const auto urgent = scheduler.issue(2, Priority::urgent, MiB, kStart);
    if (!scheduler.live(urgent)) break;
    scheduler.finish(urgent, kStart);
  }
  EXPECT_GT(overtaken, 4);
  EXPECT_LT(overtaken, 100);
  EXPECT_TRUE(scheduler.live(bulk));
}

TEST(Scheduler, small_operations__are_live_at_once_and_count_for_nothing) {
  Issuing scheduler({.operations = 1});
  EXPECT_TRUE(scheduler.live(scheduler.issue(1, Priority::normal, MiB, kStart)));
  EXPECT_TRUE(scheduler.live(scheduler.issue(1, Priority::bulk, Scheduler::kSmallBytes - 1, kStart)));
  EXPECT_EQ(scheduler.live_bytes(), MiB);
}

TEST(Scheduler, a_stalled_operation_passes_its_turn_on_and_gets_it_back) {
  Issuing scheduler({.operations = 1});
  const auto a = scheduler.issue(1, Priority::normal, MiB, kStart),
             b = scheduler.issue(2, Priority::normal, MiB, kStart),
             c = scheduler.issue(3, Priority::normal, MiB, kStart);
  EXPECT_FALSE(scheduler.pass_turn(kLate - Nanos(1)));
  for (int round = 1; round <= 2; ++round) {
    EXPECT_TRUE(scheduler.pass_turn(kStart + (3 * round - 2) * Scheduler::kStallMost));
    EXPECT_TRUE(scheduler.live(b));
    EXPECT_TRUE(scheduler.pass_turn(kStart + (3 * round - 1) * Scheduler::kStallMost));
    EXPECT_TRUE(scheduler.live(c));
    EXPECT_TRUE(scheduler.pass_turn(kStart + 3 * round * Scheduler::kStallMost));
    EXPECT_TRUE(scheduler.live(a));
  }
}

TEST(Scheduler, a_stalled_operation_that_moves_again_regains_its_place) {
  Issuing scheduler({.operations = 1});
  const auto a = scheduler.issue(1, Priority::normal, MiB, kStart),
             b = scheduler.issue(2, Priority::normal, MiB, kStart);
  EXPECT_TRUE(scheduler.pass_turn(kLate));
  EXPECT_TRUE(scheduler.live(b));
  scheduler.moved(a, kLate);
  EXPECT_TRUE(scheduler.live(a));
  EXPECT_FALSE(scheduler.live(b));
}

TEST(Scheduler, an_operation_that_moves_keeps_its_turn) {
  Issuing scheduler({.operations = 1});
  const auto a = scheduler.issue(1, Priority::normal, MiB, kStart);
  scheduler.issue(2, Priority::normal, MiB, kStart);
  for (int i = 1; i < 10; ++i) {
    scheduler.moved(a, kStart + i * Scheduler::kStallMost);
    EXPECT_FALSE(scheduler.pass_turn(kStart + i * Scheduler::kStallMost));
  }
  EXPECT_TRUE(scheduler.live(a));
}

TEST(Scheduler, proposals__the_one_of_the_most_bytes_counts) {
  Issuing scheduler;
  scheduler.propose(1, 100, {.operations = 1}, kStart);
  EXPECT_TRUE(scheduler.off()) << "nobody asked for proposals";
  scheduler.withdraw(1, kStart);
  scheduler.open_to_proposals(kStart);
  EXPECT_TRUE(scheduler.off());
  scheduler.propose(1, 100, {.operations = 1}, kStart);
  scheduler.propose(2, 50, {.operations = 2}, kStart);
  EXPECT_EQ(scheduler.window().operations, 1u);
  scheduler.propose(2, 200, {.operations = 2}, kStart);
  EXPECT_EQ(scheduler.window().operations, 2u);
  scheduler.withdraw(2, kStart);
  EXPECT_EQ(scheduler.window().operations, 1u);
  scheduler.withdraw(1, kStart);
  EXPECT_TRUE(scheduler.off());
}

TEST(Scheduler, a_window_that_was_set__counts_before_proposals) {
  Issuing scheduler;
  scheduler.open_to_proposals(kStart);
  scheduler.propose(1, 100, {.operations = 1}, kStart);
  scheduler.set_window({.operations = 3}, kStart);
  scheduler.propose(2, 200, {.operations = 2}, kStart);
  scheduler.withdraw(1, kStart);
  EXPECT_EQ(scheduler.window().operations, 3u);
  scheduler.open_to_proposals(kStart);
  EXPECT_EQ(scheduler.window().operations, 2u) << "what was proposed meanwhile holds again";
}

TEST(Scheduler, a_queue_has_stalled_only_where_nothing_live_of_it_moves) {
  Issuing scheduler({.operations = 2});
  const auto first = scheduler.issue(1, Priority::normal, MiB, kStart),
             second = scheduler.issue(1, Priority::normal, MiB, kStart),
             other = scheduler.issue(2, Priority::normal, MiB, kStart);
  ASSERT_TRUE(scheduler.live(first) && scheduler.live(second) && !scheduler.live(other));
  const TimePoint late = kStart + 2 * Scheduler::kStallMost;
  scheduler.moved(first, late);
  EXPECT_FALSE(scheduler.pass_turn(late));
  EXPECT_FALSE(scheduler.live(other));
  EXPECT_TRUE(scheduler.pass_turn(late + 2 * Scheduler::kStallMost));
  EXPECT_TRUE(scheduler.live(other));
}

TEST(Scheduler, keys_follow_the_program_and_not_the_order_of_issue_calls) {
  Scheduler scheduler({.operations = 1});
  const auto later = scheduler.issue(1, Priority::normal, MiB, 5 * MiB, kStart),
             sooner = scheduler.issue(2, Priority::normal, MiB, 0, kStart);
  EXPECT_TRUE(scheduler.live(sooner));
  EXPECT_FALSE(scheduler.live(later));
}

TEST(Scheduler, most_live__since_it_was_last_asked_and_of_windows_only) {
  Issuing scheduler;
  scheduler.issue(1, Priority::normal, MiB, kStart);
  EXPECT_FALSE(scheduler.take_most_live());
  scheduler.set_window({.operations = 2}, kStart);
  const auto a = scheduler.issue(1, Priority::normal, MiB, kStart),
             b = scheduler.issue(1, Priority::normal, 2 * MiB, kStart);
  scheduler.issue(1, Priority::normal, 4 * MiB, kStart);
  scheduler.finish(a, kStart);
  auto most = scheduler.take_most_live();
  ASSERT_TRUE(most);
  EXPECT_EQ(most->operations, 2u);
  EXPECT_EQ(most->bytes, 6 * MiB);
  EXPECT_FALSE(scheduler.take_most_live()) << "nothing changed";
  scheduler.finish(b, kStart);
  EXPECT_EQ(scheduler.take_most_live()->bytes, 6 * MiB) << "what was live to begin with counts";
  scheduler.set_window({}, kStart);
  EXPECT_FALSE(scheduler.take_most_live());
}

// The first operation has the more urgent priority, but by its lead it is needed later.
TEST(Scheduler, a_lead__decides_instead_of_the_class) {
  Issuing scheduler({.operations = 1});
  const auto first = scheduler.issue(1, Priority::urgent, MiB, kStart, 100 * MiB),
             second = scheduler.issue(2, Priority::bulk, MiB, kStart, 0);
  EXPECT_FALSE(scheduler.live(first));
  EXPECT_TRUE(scheduler.live(second));
}

}  // namespace
}  // namespace railweave::collectives_test

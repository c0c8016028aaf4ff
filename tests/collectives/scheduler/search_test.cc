// No small world reaches a state from which nothing leads on, whatever the times of its ranks are (world.h has the
// moves).
#include <gtest/gtest.h>

#include "search.h"
#include "tests/sanitizers.h"

namespace railweave::collectives_test {
namespace {

constexpr auto issue = [](std::size_t operation) { return Act{Act::Kind::issue, operation}; };
constexpr auto issue_with_lead = [](std::size_t operation, std::uint64_t lead) {
  return Act{Act::Kind::issue, operation, lead};
};
constexpr auto wait = [](std::size_t operation) { return Act{Act::Kind::wait, operation}; };
constexpr auto limit = [](std::size_t operations) { return Act{Act::Kind::limit, operations}; };

Found with_window(World world, std::size_t operations, bool turns = true) {
  world.window.operations = operations;
  world.turns = turns;
  return search(world);
}

// Two groups of the same two ranks. Rank 1 issues the first operation only after the second is over.
World crossed() {
  return {.operations = {{{0, 1}, 1}, {{0, 1}, 2}},
          .programs = {{issue(0), issue(1), wait(0), wait(1)}, {issue(1), wait(1), issue(0), wait(0)}},
          .window = {}};
}

TEST(Search, crossed_orders__lead_on_by_turns) {
  const Found off = search(crossed());
  EXPECT_EQ(off.dead, 0u) << off.example;
  const Found found = with_window(crossed(), 1);
  EXPECT_EQ(found.dead, 0u) << found.example;
  EXPECT_GT(found.states, 20u);
}

// The search finds the deadlock that turns prevent.
TEST(Search, crossed_orders__have_no_way_on_without_turns) { EXPECT_GT(with_window(crossed(), 1, false).dead, 0u); }

// The programs of the two ranks wait for each other.
TEST(Search, programs_that_cannot_end__are_seen) {
  World world = crossed();
  world.programs[0] = {issue(0), wait(0), issue(1), wait(1)};
  EXPECT_GT(search(world).dead, 0u);
}

// As FSDP issues: gathers ahead of time, reductions behind, all ranks alike.
TEST(Search, ranks_that_issue_alike__need_no_turns) {
  World world;
  world.operations = {{{0, 1, 2}, 1, Priority::urgent},
                      {{0, 1, 2}, 2, Priority::bulk},
                      {{0, 1, 2}, 1, Priority::urgent},
                      {{0, 1, 2}, 2, Priority::bulk}};
  const std::vector<Act> program{issue(0), wait(0), issue(1), issue(2), wait(2), issue(3), wait(1), wait(3)};
  world.programs = {program, program, program};
  for (const std::size_t window : {1u, 2u}) {
    const Found found = with_window(world, window, false);
    EXPECT_EQ(found.dead, 0u) << found.example;
  }
}

TEST(Search, windows_that_each_rank_changes_in_mid_step_lead_on) {
  World world;
  world.operations = {{{0, 1}, 1, Priority::urgent}, {{0, 1}, 2, Priority::bulk}, {{0, 1}, 1, Priority::urgent}};
  world.programs = {{issue(1), limit(2), issue(0), issue(2), wait(0), wait(2), wait(1)},
                    {issue(1), issue(0), issue(2), wait(0), limit(1), wait(2), wait(1)}};
  const Found found = with_window(world, 1);
  EXPECT_EQ(found.dead, 0u) << found.example;
}

// Learned leads take effect in mid-step. Earlier operations have the leads of their priorities. Later ones have learned
// leads, which order the groups the other way round.
TEST(Search, leads_that_begin_in_mid_step__lead_on) {
  for (const std::size_t window : {1u, 2u})
    for (const bool crosses : {false, true}) {
      World world;
      world.operations = {{{0, 1}, 1}, {{0, 1}, 2, Priority::bulk}, {{0, 1}, 1}, {{0, 1}, 2, Priority::bulk}};
      world.programs = {
          {issue(0), issue(1), issue_with_lead(2, 8 * MiB), issue_with_lead(3, 0), wait(3), wait(2), wait(0), wait(1)},
          {issue(0), issue(1), issue_with_lead(2, 8 * MiB), issue_with_lead(3, 0), wait(0), wait(1), wait(2), wait(3)}};
      if (crosses) std::swap(world.programs[1][0], world.programs[1][1]);
      const Found found = with_window(world, window);
      EXPECT_EQ(found.dead, 0u) << "window " << window << ": " << found.example;
    }
}

// Ranks agree on the operation from which on leads count. A rank with leads of its own would only be slow.
TEST(Search, leads_that_one_rank_alone_has__lead_on) {
  World world = crossed();
  world.programs[0] = {issue_with_lead(0, 4 * MiB), issue_with_lead(1, 0), wait(0), wait(1)};
  for (const std::size_t window : {1u, 2u}) {
    const Found found = with_window(world, window);
    EXPECT_EQ(found.dead, 0u) << "window " << window << ": " << found.example;
  }
}

// Two shards of two ranks, and two replica groups between them, so groups overlap in one rank each. Every order in
// which the ranks may issue, each waiting at once or at the end. Programs that cannot end under `off` are left out.
// Rank 0 begins with its shard, as the other order swaps shards and replicas only, and waits at the end.
TEST(Search, hsdp_2_by_2__in_every_order) {
  constexpr int kEvery = kSanitized ? 4 : 2;  // under a sanitizer all worlds take minutes
  const World::Operation groups[] = {{{0, 1}, 1}, {{2, 3}, 2}, {{0, 2}, 3}, {{1, 3}, 4}};
  const std::size_t of_rank[4][2] = {{0, 2}, {0, 3}, {1, 2}, {1, 3}};
  int searched = 0;
  for (int orders = 0; orders < 16; orders += kEvery) {
    for (int waits = 0; waits < 16; waits += kEvery) {
      World world;
      world.operations.assign(std::begin(groups), std::end(groups));
      for (std::size_t rank = 0; rank < 4; ++rank) {
        const bool swapped = (orders >> rank & 1) != 0, at_once = (waits >> rank & 1) != 0;
        const std::size_t first = of_rank[rank][swapped], second = of_rank[rank][!swapped];
        if (at_once) {
          world.programs.push_back({issue(first), wait(first), issue(second), wait(second)});
        } else {
          world.programs.push_back({issue(first), issue(second), wait(second), wait(first)});
        }
      }
      if (search(world).dead > 0) continue;
      const Found found = with_window(world, 1);
      EXPECT_EQ(found.dead, 0u) << "orders " << orders << ", waits " << waits << ": " << found.example;
      ++searched;
      if (waits > 0 || orders > 2) continue;
      world.programs[1][0].lead = 8 * MiB;  // one rank orders its operations otherwise
      const Found led = with_window(world, 1);
      EXPECT_EQ(led.dead, 0u) << "with a lead, orders " << orders << ", waits " << waits << ": " << led.example;
    }
  }
  EXPECT_GT(searched, 120 / (kEvery * kEvery));
}

// Two operations of each queue, of different sizes: urgent ones of the shards, and bulk ones of the replicas. Rank 0
// issues all at once, and rank 3 all but one. The others issue each operation when the one before is over, the
// replicas' first.
World hsdp_2_by_2_twice() {
  World world;
  for (const std::size_t bytes : {2 * MiB, 3 * MiB}) {
    world.operations.push_back({{0, 1}, 1, Priority::urgent, bytes});
    world.operations.push_back({{2, 3}, 2, Priority::urgent, bytes});
    world.operations.push_back({{0, 2}, 3, Priority::bulk, MiB});
    world.operations.push_back({{1, 3}, 4, Priority::bulk, MiB});
  }
  const auto in_turn = [](std::size_t first, std::size_t second) {
    return std::vector{issue(first),     wait(first),     issue(second),     wait(second),
                       issue(first + 4), wait(first + 4), issue(second + 4), wait(second + 4)};
  };
  world.programs = {{issue(0), issue(4), issue(2), issue(6), wait(0), wait(4), wait(2), wait(6)},
                    in_turn(3, 0),
                    in_turn(2, 1),
                    {issue(1), issue(5), issue(3), wait(1), wait(3), wait(5), issue(7), wait(7)}};
  if (kSanitized) world.programs[3] = in_turn(1, 3);
  return world;
}

TEST(Search, hsdp_2_by_2_with_two_operations_of_each_queue_leads_on) {
  for (const collectives::Window window :
       {collectives::Window{.operations = 1}, {.operations = 2}, {.bytes = 3 * MiB}}) {
    World world = hsdp_2_by_2_twice();
    world.window = window;
    const Found found = search(world);
    EXPECT_EQ(found.dead, 0u) << window.operations << " operations, " << window.bytes << " bytes: " << found.example;
    world.turns = false;
    EXPECT_GT(search(world).dead, 0u) << window.operations << " operations, " << window.bytes << " bytes";
  }
}

// Queues of different sizes: which operations fit depends on their order, and one is larger than the window.
TEST(Search, a_window_of_bytes__leads_on) {
  World world;
  world.operations = {{{0, 1}, 1, Priority::normal, MiB},
                      {{0, 1}, 2, Priority::normal, 2 * MiB},
                      {{0, 1}, 3, Priority::bulk, 4 * MiB},
                      {{0, 1}, 1, Priority::normal, MiB}};
  world.programs = {{issue(0), issue(1), issue(2), issue(3), wait(0), wait(1), wait(2), wait(3)},
                    {issue(2), wait(2), issue(1), issue(0), issue(3), wait(3), wait(0), wait(1)}};
  for (const std::size_t bytes : {2 * MiB, 3 * MiB}) {
    world.window.bytes = bytes;
    world.turns = true;
    const Found found = search(world);
    EXPECT_EQ(found.dead, 0u) << bytes << " bytes: " << found.example;
    world.turns = false;
    EXPECT_GT(search(world).dead, 0u) << bytes << " bytes";
  }
}

// Small operations do not count, but begin behind held operations ahead of them in their queue.
TEST(Search, small_operations__lead_on) {
  World world;
  world.operations = {{{0, 1}, 1}, {{0, 1}, 2}, {{0, 1}, 1, Priority::normal, KiB}, {{0, 1}, 2, Priority::normal, KiB}};
  world.programs = {{issue(0), issue(2), issue(1), issue(3), wait(2), wait(3), wait(0), wait(1)},
                    {issue(1), issue(3), wait(3), wait(1), issue(0), issue(2), wait(2), wait(0)}};
  const Found found = with_window(world, 1);
  EXPECT_EQ(found.dead, 0u) << found.example;
  EXPECT_GT(with_window(world, 1, false).dead, 0u);
}

}  // namespace
}  // namespace railweave::collectives_test

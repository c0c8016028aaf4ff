// Many ranks in overlapping groups, each with its own order of operations: all operations end under every window.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "walk.h"

namespace railweave::collectives_test {
namespace {

// HSDP's operations: for each layer an all-gather and a reduce-scatter of every shard group, and an all-reduce of every
// replica group.
struct Hsdp {
  int shards = 0, replicas = 0, layers = 0;
};

struct Built {
  World world;
  std::vector<std::vector<std::size_t>> own;  // operations by rank, in an order in which all ranks may wait for them
};

Built operations_of(const Hsdp& job, std::mt19937_64& random) {
  Built built;
  built.own.resize(std::size_t(job.shards * job.replicas));
  const auto add = [&](std::vector<int> members, std::size_t line, Priority priority) {
    for (const int member : members) built.own[std::size_t(member)].push_back(built.world.operations.size());
    built.world.operations.push_back({std::move(members), line, priority, 64 * KiB + random() % (16 * MiB)});
  };
  const auto shard = [&](int replica) {
    std::vector<int> members;
    for (int s = 0; s < job.shards; ++s) members.push_back(replica * job.shards + s);
    return members;
  };
  const auto replica = [&](int of_shard) {
    std::vector<int> members;
    for (int r = 0; r < job.replicas; ++r) members.push_back(r * job.shards + of_shard);
    return members;
  };
  for (int layer = 0; layer < job.layers; ++layer)
    for (int r = 0; r < job.replicas; ++r) add(shard(r), std::size_t(3 * r), Priority::urgent);
  for (int layer = 0; layer < job.layers; ++layer) {
    for (int r = 0; r < job.replicas; ++r) add(shard(r), std::size_t(3 * r + 1), Priority::normal);
    for (int s = 0; s < job.shards; ++s) add(replica(s), std::size_t(3 * (job.replicas + s) + 2), Priority::bulk);
  }
  return built;
}

// Returns a rank's program: its operations in a random order that keeps the order of each queue. Before the rank waits
// for one operation it has issued all earlier ones of `own`, so every such program ends without windows. Some windows
// and leads are this rank's alone.
std::vector<Act> program(const World& world, const std::vector<std::size_t>& own, std::mt19937_64& random) {
  std::vector<Act> acts;
  std::vector<bool> issued(own.size());
  std::size_t waited = 0;  // all of `own` before this index
  while (waited < own.size()) {
    if (issued[waited] && random() % 3 == 0) {
      acts.push_back({Act::Kind::wait, own[waited++]});
      continue;
    }
    // The first operation of each queue that is not issued yet.
    std::vector<std::size_t> firsts;
    std::vector<std::size_t> queues;
    for (std::size_t i = 0; i < own.size(); ++i) {
      const std::size_t line = world.operations[own[i]].line;
      if (issued[i] || std::ranges::count(queues, line) > 0) continue;
      queues.push_back(line);
      firsts.push_back(i);
    }
    if (firsts.empty()) continue;
    const std::size_t next = firsts[random() % firsts.size()];
    issued[next] = true;
    Act act{Act::Kind::issue, own[next]};
    if (random() % 8 == 0) act.lead = random() % (64 * MiB);
    acts.push_back(act);
    if (world.window.operations > 0 && random() % 16 == 0) acts.push_back({Act::Kind::limit, 1 + random() % 3});
  }
  return acts;
}

Built built(const Hsdp& job, std::uint64_t seed, const collectives::Window& window) {
  std::mt19937_64 random(seed);
  Built built = operations_of(job, random);
  built.world.window = window;
  built.world.steps = 3;
  for (const auto& own : built.own) built.world.programs.push_back(program(built.world, own, random));
  return built;
}

constexpr std::size_t kMovesMost = 2'000'000;

TEST(Walk, ranks_of_hsdp_each_in_its_own_order__come_to_their_end) {
  std::size_t turns = 0;
  for (const Hsdp job : {Hsdp{2, 2, 8}, Hsdp{8, 4, 4}, Hsdp{8, 8, 3}})
    for (const collectives::Window window : {collectives::Window{}, {1, 0}, {2, 0}, {0, 8 * MiB}})
      for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        const Walked walked = walk(built(job, seed, window).world, seed, kMovesMost);
        EXPECT_TRUE(walked.over) << job.shards << " by " << job.replicas << ", window " << window.operations << ", "
                                 << window.bytes << " bytes, seed " << seed << ", after " << walked.moves
                                 << " moves: " << walked.where;
        turns += walked.turns_passed;
      }
  EXPECT_GT(turns, 0u);
}

// The walk finds the deadlocks that turns prevent.
TEST(Walk, without_turns__most_of_them_stand) {
  int stand = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    World world = built({8, 4, 4}, seed, {1, 0}).world;
    world.turns = false;
    stand += !walk(world, seed, kMovesMost).over;
  }
  EXPECT_GT(stand, 4);
}

}  // namespace
}  // namespace railweave::collectives_test

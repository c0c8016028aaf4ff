// The root sends each other rank a shard, and this rank sends the shard to the rest. Two latencies; no rank sends more
// bytes than the data has.
#include <algorithm>

#include "collectives/schedule/algorithms/flow.h"
#include "collectives/schedule/algorithms/table.h"
#include "collectives/schedule/builder.h"

namespace railweave::collectives {
namespace {

// Shard i belongs to the rank i + 1 after the root.
int owner(const Problem& problem, int shard) { return around(problem, problem.root, shard + 1); }

void at_root(Builder& builder, const std::vector<Chunks>& shards, std::size_t k) {
  for (int i = 0; i < int(shards.size()); ++i) {
    const Range chunk = shards[std::size_t(i)][k];
    if (chunk.count == 0) continue;
    builder.send(owner(builder.problem(), i), builder.input(chunk));
    builder.copy(builder.input(chunk), builder.output(chunk));
  }
}

void elsewhere(Builder& builder, const std::vector<Chunks>& shards, std::size_t k) {
  const Problem& problem = builder.problem();
  for (int i = 0; i < int(shards.size()); ++i) {
    const Range chunk = shards[std::size_t(i)][k];
    if (chunk.count == 0) continue;
    const bool mine = owner(problem, i) == problem.rank;
    builder.receive(mine ? problem.root : owner(problem, i), builder.output(chunk));
    if (!mine) continue;
    for (int other = 0; other < int(shards.size()); ++other)
      if (other != i) builder.send(owner(problem, other), builder.output(chunk));
  }
}

Schedule build(const Problem& problem) {
  const Layout layout = Layout::even(problem, problem.counts[0], problem.ranks - 1);
  std::vector<Chunks> shards;
  std::size_t most = 0;
  for (int i = 0; i < layout.shards(); ++i) {
    shards.emplace_back(problem, layout[i]);
    most = std::max(most, shards.back().size());
  }
  Builder builder(problem);
  for (std::size_t k = 0; k < most; ++k) (problem.rank == problem.root ? at_root : elsewhere)(builder, shards, k);
  return builder.take();
}

Load load(const Problem& problem) {
  const double bytes = total_bytes(problem);
  Load load = all_pairs_load(problem, {bytes, 2, problem.ranks - 1.0, bytes / (problem.ranks - 1)});
  load.filling_bytes = one_chunk(problem, bytes / (problem.ranks - 1));
  load.reduced_bytes = bytes;
  return load;
}

bool fits(const Problem& problem) { return problem.ranks > 2; }

}  // namespace

Algorithm broadcast_scatter_gather() { return {"scatter_gather", Operation::broadcast, fits, build, load}; }

}  // namespace railweave::collectives

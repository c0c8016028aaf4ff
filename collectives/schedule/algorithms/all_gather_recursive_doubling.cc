// In round i each rank exchanges all parts that it has with the rank that differs from it in bit i: few latencies.
#include <algorithm>

#include "collectives/schedule/algorithms/flow.h"
#include "collectives/schedule/algorithms/table.h"
#include "collectives/schedule/builder.h"

namespace railweave::collectives {
namespace {

bool fits(const Problem& problem) {
  const auto unlike_first = [&problem](std::size_t count) { return count != problem.counts[0]; };
  return power_of_two(problem) && std::none_of(problem.counts.begin(), problem.counts.end(), unlike_first);
}

Schedule build(const Problem& problem) {
  const Layout layout = Layout::of_counts(problem.counts);
  const Range own = layout[problem.rank];
  Builder builder(problem);
  builder.copy_chunks({0, own.count}, own);
  for (int distance = 1; distance < problem.ranks; distance *= 2) {
    const int peer = problem.rank ^ distance;
    const int mine = problem.rank & ~(distance - 1), theirs = peer & ~(distance - 1);
    const Chunks sent(problem, layout.between(mine, mine + distance));
    const Chunks received(problem, layout.between(theirs, theirs + distance));
    for (std::size_t k = 0; k < received.size(); ++k) builder.receive(peer, builder.output(received[k]));
    for (std::size_t k = 0; k < sent.size(); ++k) builder.send(peer, builder.output(sent[k]));
  }
  return builder.take();
}

Load load(const Problem& problem) {
  const double others = total_bytes(problem) * (problem.ranks - 1) / problem.ranks;
  const double rounds = rounds_of_doubling(problem);
  Load load = all_pairs_load(problem, {others, rounds, rounds, total_bytes(problem) / 2});
  load.reduced_bytes = largest_bytes(problem);
  return load;
}

}  // namespace

Algorithm all_gather_recursive_doubling() { return {"recursive_doubling", Operation::all_gather, fits, build, load}; }

}  // namespace railweave::collectives

// Every rank sends every other rank its part.
#include <algorithm>

#include "collectives/schedule/algorithms/flow.h"
#include "collectives/schedule/algorithms/table.h"
#include "collectives/schedule/builder.h"

namespace railweave::collectives {
namespace {

// Sender and receiver have a part at different offsets, so chunks are counted from the part's own start.
Range moved(Range chunk, Range part) { return {chunk.first + part.first, chunk.count}; }

Schedule build(const Problem& problem) {
  const Layout inputs = Layout::of_counts(problem.counts), outputs = Layout::of_counts(problem.receive_counts);
  Builder builder(problem);
  for (int distance = 1; distance < problem.ranks; ++distance) {
    const int from = around(problem, problem.rank, -distance), to = around(problem, problem.rank, distance);
    const Chunks theirs(problem, {0, outputs[from].count}), mine(problem, {0, inputs[to].count});
    // A pair without elements to exchange sends an empty chunk, too, because the peer may have other counts.
    const std::size_t at_least = problem.uniform ? 0 : 1;
    for (std::size_t k = 0; k < std::max(theirs.size(), at_least); ++k)
      builder.receive(from, builder.output(moved(theirs[k], outputs[from])));
    for (std::size_t k = 0; k < std::max(mine.size(), at_least); ++k)
      builder.send(to, builder.input(moved(mine[k], inputs[to])));
  }
  builder.copy_chunks(inputs[problem.rank], outputs[problem.rank]);
  return builder.take();
}

Load load(const Problem& problem) {
  const double others = total_bytes(problem) * (problem.ranks - 1) / problem.ranks;
  Load load = all_pairs_load(problem, {others, 1, problem.ranks - 1.0, largest_bytes(problem)});
  load.reduced_bytes = largest_bytes(problem);
  return load;
}

}  // namespace

Algorithm all_to_all_direct() { return {"direct", Operation::all_to_all, always, build, load}; }

}  // namespace railweave::collectives

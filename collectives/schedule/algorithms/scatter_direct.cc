// The root sends each its part.
#include <algorithm>

#include "collectives/schedule/algorithms/flow.h"
#include "collectives/schedule/algorithms/table.h"
#include "collectives/schedule/builder.h"

namespace railweave::collectives {
namespace {

Schedule build(const Problem& problem) {
  const Layout layout = Layout::of_counts(problem.counts);
  const Range own = layout[problem.rank];
  Builder builder(problem);
  if (problem.rank != problem.root) {
    const Chunks chunks(problem, own);
    for (std::size_t k = 0; k < chunks.size(); ++k)
      builder.receive(problem.root, builder.output({chunks[k].first - own.first, chunks[k].count}));
    return builder.take();
  }
  for (int distance = 1; distance < problem.ranks; ++distance) {
    const int to = around(problem, problem.rank, distance);
    const Chunks chunks(problem, layout[to]);
    for (std::size_t k = 0; k < chunks.size(); ++k) builder.send(to, builder.input(chunks[k]));
  }
  builder.copy_chunks(own, {0, own.count});
  return builder.take();
}

Load load(const Problem& problem) {
  Load load = root_load(problem, {total_bytes(problem), 1, problem.ranks - 1.0, largest_bytes(problem)});
  load.reduced_bytes = largest_bytes(problem);
  return load;
}

}  // namespace

Algorithm scatter_direct() { return {"direct", Operation::scatter, always, build, load}; }

}  // namespace railweave::collectives

// Each sends its part to the root.
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
      builder.send(problem.root, builder.input({chunks[k].first - own.first, chunks[k].count}));
    return builder.take();
  }
  for (int distance = 1; distance < problem.ranks; ++distance) {
    const int from = around(problem, problem.rank, distance);
    const Chunks chunks(problem, layout[from]);
    for (std::size_t k = 0; k < chunks.size(); ++k) builder.receive(from, builder.output(chunks[k]));
  }
  builder.copy_chunks({0, own.count}, own);
  return builder.take();
}

Load load(const Problem& problem) {
  Load load = root_load(problem, {total_bytes(problem), 1, problem.ranks - 1.0, largest_bytes(problem)});
  load.reduced_bytes = largest_bytes(problem);
  return load;
}

}  // namespace

Algorithm gather_direct() { return {"direct", Operation::gather, always, build, load}; }

}  // namespace railweave::collectives

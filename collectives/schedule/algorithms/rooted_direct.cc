// gather and scatter: each part passes between its rank and the root.
#include "collectives/schedule/algorithms/flow.h"
#include "collectives/schedule/algorithms/table.h"
#include "collectives/schedule/builder.h"

namespace railweave::collectives {
namespace {

Schedule build(const Problem& problem) {
  const bool to_root = problem.operation == Operation::gather, is_root = problem.rank == problem.root;
  const Layout layout = Layout::of_counts(problem.counts);
  const Range own = layout[problem.rank], alone{0, own.count};
  Builder builder(problem);
  // The root's memory has all parts; another rank's memory begins with its own part.
  const auto pass = [&](int peer, Range part) {
    const Chunks chunks(problem, part);
    for (std::size_t k = 0; k < chunks.size(); ++k) {
      const Range here{chunks[k].first - (is_root ? 0 : own.first), chunks[k].count};
      to_root != is_root ? builder.send(peer, builder.input(here)) : builder.receive(peer, builder.output(here));
    }
  };
  if (!is_root) {
    pass(problem.root, own);
    return builder.take();
  }
  for (int distance = 1; distance < problem.ranks; ++distance) {
    const int peer = around(problem, problem.rank, distance);
    pass(peer, layout[peer]);
  }
  to_root ? builder.copy_chunks(alone, own) : builder.copy_chunks(own, alone);
  return builder.take();
}

Load load(const Problem& problem) {
  Load load = root_load(problem, {total_bytes(problem), 1, problem.ranks - 1.0, largest_bytes(problem)});
  load.reduced_bytes = largest_bytes(problem);
  return load;
}

}  // namespace

Algorithm gather_direct() { return {"direct", Operation::gather, always, build, load}; }
Algorithm scatter_direct() { return {"direct", Operation::scatter, always, build, load}; }

}  // namespace railweave::collectives

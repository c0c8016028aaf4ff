// Every rank sends its part to every other rank.
#include "collectives/schedule/algorithms/flow.h"
#include "collectives/schedule/algorithms/table.h"
#include "collectives/schedule/builder.h"

namespace railweave::collectives {
namespace {

Schedule build(const Problem& problem) {
  const Layout layout = Layout::of_counts(problem.counts);
  const Range own = layout[problem.rank];
  const Chunks chunks(problem, own);
  Builder builder(problem);
  for (int distance = 1; distance < problem.ranks; ++distance) {
    const int from = around(problem, problem.rank, -distance);
    const Chunks theirs(problem, layout[from]);
    for (std::size_t k = 0; k < theirs.size(); ++k) builder.receive(from, builder.output(theirs[k]));
  }
  for (std::size_t k = 0; k < chunks.size(); ++k) {
    const Range chunk = chunks[k];
    const Piece piece = builder.input({chunk.first - own.first, chunk.count});
    for (int distance = 1; distance < problem.ranks; ++distance)
      builder.send(around(problem, problem.rank, distance), piece);
    builder.copy(piece, builder.output(chunk));
  }
  return builder.take();
}

Load load(const Problem& problem) {
  const double others = total_bytes(problem) * (problem.ranks - 1) / problem.ranks;
  Load load = all_pairs_load(problem, {others, 1, problem.ranks - 1.0, largest_bytes(problem)});
  load.reduced_bytes = largest_bytes(problem);
  return load;
}

}  // namespace

Algorithm all_gather_direct() { return {"direct", Operation::all_gather, always, build, load, true}; }

}  // namespace railweave::collectives

// Each part travels around the ring: every rank sends to the next rank what it received from the previous one.
#include "collectives/schedule/algorithms/ring.h"
#include "collectives/schedule/algorithms/table.h"

namespace railweave::collectives {
namespace {

Schedule build(const Problem& problem) {
  const Layout layout = Layout::of_counts(problem.counts);
  const Range own = layout[problem.rank];
  Builder builder(problem);
  Ring ring(builder, layout);
  const Chunks& chunks = ring.chunks(0);
  for (std::size_t k = 0; k < chunks.size(); ++k) {
    const Range chunk = chunks[k];
    const Piece piece = builder.input({chunk.first - own.first, chunk.count});
    builder.send(ring.next(), piece);
    builder.copy(piece, builder.output(chunk));
  }
  ring.hand_on(0, ring.most(), Form::raw);
  return builder.take();
}

Load load(const Problem& problem) {
  const double others = total_bytes(problem) * (problem.ranks - 1) / problem.ranks;
  Load load = ring_load(problem, {others, problem.ranks - 1.0, problem.ranks - 1.0, largest_bytes(problem)});
  load.reduced_bytes = largest_bytes(problem);
  return load;
}

}  // namespace

Algorithm all_gather_ring() { return {"ring", Operation::all_gather, several, build, load}; }

}  // namespace railweave::collectives

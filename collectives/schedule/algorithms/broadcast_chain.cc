// Data travels from the root to the next rank and so on, chunk by chunk. No rank sends the data more than once.
#include "collectives/schedule/algorithms/flow.h"
#include "collectives/schedule/algorithms/table.h"
#include "collectives/schedule/builder.h"

namespace railweave::collectives {
namespace {

Schedule build(const Problem& problem) {
  const Chunks chunks(problem, {0, problem.counts[0]});
  const int next = around(problem, problem.rank, 1);
  const bool root = problem.rank == problem.root;
  Builder builder(problem);
  for (std::size_t k = 0; k < chunks.size(); ++k) {
    const Piece here = builder.output(chunks[k]);
    const Piece from = root ? builder.input(chunks[k]) : here;
    if (!root) builder.receive(around(problem, problem.rank, -1), here);
    if (next != problem.root) builder.send(next, from);
    if (root) builder.copy(from, here);
  }
  return builder.take();
}

Load load(const Problem& problem) {
  const double bytes = total_bytes(problem);
  Load load = ring_load(problem, {bytes, problem.ranks - 1.0, 1, bytes});
  load.filling_bytes = one_chunk(problem, bytes) * (problem.ranks - 2);
  load.reduced_bytes = bytes;
  return load;
}

}  // namespace

Algorithm broadcast_chain() { return {"chain", Operation::broadcast, several, build, load}; }

}  // namespace railweave::collectives

// The root sends to every other rank: one latency, for small messages.
#include "collectives/schedule/algorithms/flow.h"
#include "collectives/schedule/algorithms/table.h"
#include "collectives/schedule/builder.h"

namespace railweave::collectives {
namespace {

Schedule build(const Problem& problem) {
  const Chunks chunks(problem, {0, problem.counts[0]});
  Builder builder(problem);
  for (std::size_t k = 0; k < chunks.size(); ++k) {
    if (problem.rank != problem.root) {
      builder.receive(problem.root, builder.output(chunks[k]));
      continue;
    }
    for (int distance = 1; distance < problem.ranks; ++distance)
      builder.send(around(problem, problem.rank, distance), builder.input(chunks[k]));
    builder.copy(builder.input(chunks[k]), builder.output(chunks[k]));
  }
  return builder.take();
}

Load load(const Problem& problem) {
  const double bytes = total_bytes(problem), others = problem.ranks - 1;
  Load load = root_load(problem, {bytes * others, 1, others, bytes});
  load.reduced_bytes = bytes;
  return load;
}

}  // namespace

Algorithm broadcast_direct() { return {"direct", Operation::broadcast, always, build, load}; }

}  // namespace railweave::collectives

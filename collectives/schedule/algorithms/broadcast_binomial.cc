// Data travels from the root down a binomial tree, chunk by chunk: few latencies.
#include "collectives/schedule/algorithms/flow.h"
#include "collectives/schedule/algorithms/table.h"
#include "collectives/schedule/algorithms/tree.h"
#include "collectives/schedule/builder.h"

namespace railweave::collectives {
namespace {

Schedule build(const Problem& problem) {
  const Tree tree(problem);
  const Chunks chunks(problem, {0, problem.counts[0]});
  const bool root = tree.parent < 0;
  Builder builder(problem);
  for (std::size_t k = 0; k < chunks.size(); ++k) {
    const Piece here = builder.output(chunks[k]);
    const Piece from = root ? builder.input(chunks[k]) : here;
    if (!root) builder.receive(tree.parent, here);
    for (const int child : tree.children) builder.send(child, from);
    if (root) builder.copy(from, here);
  }
  return builder.take();
}

Load load(const Problem& problem) {
  const Tree tree(problem);
  const double bytes = total_bytes(problem);
  const double depth = tree.depth;
  Load load = root_load(problem, {bytes * depth, depth, depth, bytes});
  load.reduced_bytes = bytes;
  return load;
}

}  // namespace

Algorithm broadcast_binomial() { return {"binomial", Operation::broadcast, always, build, load}; }

}  // namespace railweave::collectives

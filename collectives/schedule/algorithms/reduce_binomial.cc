// Sums travel up a binomial tree to the root. Each rank adds its children's sums to its input. Few latencies; partial
// sums travel.
#include "collectives/schedule/algorithms/flow.h"
#include "collectives/schedule/algorithms/sums.h"
#include "collectives/schedule/algorithms/table.h"
#include "collectives/schedule/algorithms/tree.h"

namespace railweave::collectives {
namespace {

Schedule build(const Problem& problem) {
  const Tree tree(problem);
  return reduce_towards_root(problem, tree.parent, tree.children, tree.leaves);
}

Load load(const Problem& problem) {
  const Tree tree(problem);
  const double bytes = total_bytes(problem) * (1 + (tree.depth - 1) * widening(problem));
  const double depth = tree.depth;
  Load load = root_load(problem, {bytes, depth, depth, total_bytes(problem)});
  load.reduced_bytes = bytes + total_bytes(problem);
  return load;
}

}  // namespace

Algorithm reduce_binomial() { return {"binomial", Operation::reduce, several, build, load}; }

}  // namespace railweave::collectives

// Sums travel from the rank after the root on to the root, chunk by chunk; each rank adds its input. No rank moves the
// data more than once (in the width of partial sums).
#include "collectives/schedule/algorithms/flow.h"
#include "collectives/schedule/algorithms/sums.h"
#include "collectives/schedule/algorithms/table.h"

namespace railweave::collectives {
namespace {

Schedule build(const Problem& problem) {
  const int place = around(problem, problem.rank, -problem.root);
  const int next = around(problem, problem.rank, 1), previous = around(problem, problem.rank, -1);
  const bool root = place == 0, first = place == 1;
  if (first) return reduce_towards_root(problem, next, {}, {});
  return reduce_towards_root(problem, root ? -1 : next, {previous}, {around(problem, previous, -problem.root) == 1});
}

Load load(const Problem& problem) {
  const double bytes = total_bytes(problem) * (problem.ranks > 2 ? widening(problem) : 1);
  Load load = ring_load(problem, {bytes, problem.ranks - 1.0, 1, total_bytes(problem)});
  load.filling_bytes = one_chunk(problem, total_bytes(problem)) * widening(problem) * (problem.ranks - 2);
  load.reduced_bytes = bytes + total_bytes(problem);
  return load;
}

}  // namespace

Algorithm reduce_chain() { return {"chain", Operation::reduce, several, build, load}; }

}  // namespace railweave::collectives

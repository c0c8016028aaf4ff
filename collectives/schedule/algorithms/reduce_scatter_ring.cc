// The sum of each part travels around the ring, grows, and ends at the part's owner. Partial sums travel, which are
// wider than the elements if these are summed in a wider type.
#include "collectives/schedule/algorithms/ring.h"
#include "collectives/schedule/algorithms/table.h"

namespace railweave::collectives {
namespace {

Schedule build(const Problem& problem) {
  const Layout layout = Layout::of_counts(problem.counts);
  const std::size_t own_first = layout[problem.rank].first;
  Builder builder(problem);
  const Ring ring(builder, layout);
  RingReduction reduction(builder, ring, [&builder, own_first](Range chunk) {
    return builder.output({chunk.first - own_first, chunk.count}, Form::result);
  });
  for (std::size_t k = 0; k < ring.most(); k += kRingGroup) reduction.reduce(k, k + kRingGroup);
  return builder.take();
}

Load load(const Problem& problem) {
  // The first hop moves raw input.
  const double part = total_bytes(problem) / problem.ranks;
  const double moved = part * (1 + (problem.ranks - 2) * widening(problem));
  Load load = ring_load(problem, {moved, problem.ranks - 1.0, problem.ranks - 1.0, largest_bytes(problem)});
  load.reduced_bytes = moved + part * (problem.ranks - 1);
  return load;
}

}  // namespace

Algorithm reduce_scatter_ring() { return {"ring", Operation::reduce_scatter, several, build, load}; }

}  // namespace railweave::collectives

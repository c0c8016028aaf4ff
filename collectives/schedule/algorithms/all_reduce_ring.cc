// Sums travel around the ring until each rank has a finished shard; then the shards travel around. Each rank sends to
// one neighbour only. Each direction carries twice the bytes that a rank does not own.
#include <algorithm>

#include "collectives/schedule/algorithms/ring.h"
#include "collectives/schedule/algorithms/table.h"

namespace railweave::collectives {
namespace {

Schedule build(const Problem& problem) {
  const Layout layout = Layout::even(problem, problem.counts[0], problem.ranks);
  Builder builder(problem);
  const auto place_of = [&builder](Range chunk) { return builder.output(chunk, Form::result); };
  Ring ring(builder, layout);
  RingReduction reduction(builder, ring, place_of);
  const Chunks& own = ring.chunks(0);
  for (std::size_t first = 0; first < ring.most(); first += kRingGroup) {
    reduction.reduce(first, first + kRingGroup);
    for (std::size_t k = first; k < std::min(own.size(), first + kRingGroup); ++k)
      builder.send(ring.next(), place_of(own[k]));
    ring.hand_on(first, first + kRingGroup, Form::result);
  }
  return builder.take();
}

Load load(const Problem& problem) {
  const double shard = total_bytes(problem) / problem.ranks;
  const double summed = shard * (1 + (problem.ranks - 2) * widening(problem));
  const double hops = 2 * (problem.ranks - 1);
  Load load = ring_load(problem, {summed + shard * (problem.ranks - 1), hops, hops, shard});
  load.reduced_bytes = summed + shard * (problem.ranks - 1);
  return load;
}

}  // namespace

Algorithm all_reduce_ring() { return {"ring", Operation::all_reduce, several, build, load}; }

}  // namespace railweave::collectives

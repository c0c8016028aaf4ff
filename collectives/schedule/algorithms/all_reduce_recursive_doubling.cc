// In round i each rank exchanges its sums with the rank that differs from it in bit i. Both add them in the same order.
#include "collectives/schedule/algorithms/flow.h"
#include "collectives/schedule/algorithms/table.h"
#include "collectives/schedule/builder.h"
#include "collectives/schedule/load.h"

namespace railweave::collectives {
namespace {

Schedule build(const Problem& problem) {
  const Chunks chunks(problem, {0, problem.counts[0]});
  Builder builder(problem);
  std::vector<Piece> mine;  // by chunk: this rank's sum so far
  for (std::size_t k = 0; k < chunks.size(); ++k) mine.push_back(builder.input(chunks[k]));
  for (int distance = 1; distance < problem.ranks; distance *= 2) {
    const int peer = problem.rank ^ distance;
    const bool last = 2 * distance == problem.ranks;
    for (std::size_t k = 0; k < chunks.size(); ++k) {
      const Range chunk = chunks[k];
      Piece received = mine[k], sum = builder.output(chunk, Form::result);
      received.place = Place::scratch;
      received.offset_bytes =
          builder.scratch(chunk.count * (distance == 1 ? problem.element_bytes : problem.partial_bytes));
      if (!last)
        sum = {Place::scratch, Form::partial, builder.scratch(chunk.count * problem.partial_bytes), chunk.count};
      builder.receive(peer, received);
      builder.send(peer, mine[k]);
      const bool peer_first = peer < problem.rank;
      const Piece operands[] = {peer_first ? received : mine[k], peer_first ? mine[k] : received};
      builder.reduce(operands, sum);
      mine[k] = sum;
    }
  }
  return builder.take();
}

Load load(const Problem& problem) {
  const double rounds = rounds_of_doubling(problem), total = total_bytes(problem);
  const double moved = total * (1 + (rounds - 1) * widening(problem));
  Load load = all_pairs_load(problem, {moved, rounds, rounds, total});
  load.reduced_bytes = 2 * moved;
  load.filling_bytes = filling_at_the_end(problem, total);
  return load;
}

}  // namespace

Algorithm all_reduce_recursive_doubling() {
  return {"recursive_doubling", Operation::all_reduce, power_of_two, build, load};
}

}  // namespace railweave::collectives

// Blocks travel in rounds, by powers of two. In round i each rank sends to the rank 2^i after it, in one message, every
// block whose remaining distance has bit i set. Small blocks need few latencies.
#include "collectives/schedule/algorithms/flow.h"
#include "collectives/schedule/algorithms/table.h"
#include "collectives/schedule/builder.h"

namespace railweave::collectives {
namespace {

bool fits(const Problem& problem) { return problem.uniform && problem.ranks > 2; }

Schedule build(const Problem& problem) {
  const std::size_t count = problem.counts[0], bytes = count * problem.element_bytes;
  Builder builder(problem);
  if (count == 0) return builder.take();
  std::vector<Piece> blocks;  // by distance to travel: the block's present place
  for (int way = 0; way < problem.ranks; ++way)
    blocks.push_back(builder.input({std::size_t(around(problem, problem.rank, way)) * count, count}));

  for (int distance = 1; distance < problem.ranks; distance *= 2) {
    std::vector<int> going;
    for (int way = 0; way < problem.ranks; ++way)
      if (way & distance) going.push_back(way);
    const Piece sent{Place::scratch, Form::raw, builder.scratch(going.size() * bytes), going.size() * count};
    const Piece received{Place::scratch, Form::raw, builder.scratch(going.size() * bytes), going.size() * count};
    builder.receive(around(problem, problem.rank, -distance), received);
    for (std::size_t i = 0; i < going.size(); ++i) {
      Piece& block = blocks[std::size_t(going[i])];
      builder.copy(block, {Place::scratch, Form::raw, sent.offset_bytes + i * bytes, count});
      block = {Place::scratch, Form::raw, received.offset_bytes + i * bytes, count};
    }
    builder.send(around(problem, problem.rank, distance), sent);
  }
  for (int way = 0; way < problem.ranks; ++way)
    builder.copy(blocks[std::size_t(way)],
                 builder.output({std::size_t(around(problem, problem.rank, -way)) * count, count}));
  return builder.take();
}

Load load(const Problem& problem) {
  const double rounds = rounds_of_doubling(problem), moved = total_bytes(problem) / 2 * rounds;
  // A round is one message of any size.
  Load load = all_pairs_load(problem, {moved, rounds, rounds, moved});
  load.messages = 2 * rounds;
  load.reduced_bytes = moved + total_bytes(problem);
  return load;
}

}  // namespace

Algorithm all_to_all_bruck() { return {"bruck", Operation::all_to_all, fits, build, load}; }

}  // namespace railweave::collectives

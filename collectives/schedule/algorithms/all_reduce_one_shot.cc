// Every rank sends its whole input to every other rank, and each rank reduces everything: one latency.
#include "collectives/schedule/algorithms/flow.h"
#include "collectives/schedule/algorithms/owner.h"
#include "collectives/schedule/algorithms/table.h"

namespace railweave::collectives {
namespace {

Schedule build(const Problem& problem) {
  const Chunks chunks(problem, {0, problem.counts[0]});
  Builder builder(problem);
  Owner owner(builder, chunks.size(), chunks.longest());
  for (std::size_t k = 0; k < chunks.size(); ++k) {
    const Range chunk = chunks[k];
    owner.receive(k, chunk.count);
    for (int distance = 1; distance < problem.ranks; ++distance)
      builder.send(around(problem, problem.rank, distance), builder.input(chunk));
    owner.reduce(k, builder.input(chunk), builder.output(chunk, Form::result));
  }
  return builder.take();
}

Load load(const Problem& problem) {
  const double total = total_bytes(problem), others = problem.ranks - 1;
  Load load = all_pairs_load(problem, {total * others, 1, others, total});
  load.reduced_bytes = total_bytes(problem) * problem.ranks;
  load.filling_bytes = filling_at_the_end(problem, total);
  return load;
}

}  // namespace

Algorithm all_reduce_one_shot() { return {"one_shot", Operation::all_reduce, always, build, load}; }

}  // namespace railweave::collectives

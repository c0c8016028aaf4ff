// The root receives every rank's input and reduces once.
#include "collectives/schedule/algorithms/flow.h"
#include "collectives/schedule/algorithms/owner.h"
#include "collectives/schedule/algorithms/table.h"

namespace railweave::collectives {
namespace {

Schedule build(const Problem& problem) {
  const Chunks chunks(problem, {0, problem.counts[0]});
  Builder builder(problem);
  if (problem.rank != problem.root) {
    for (std::size_t k = 0; k < chunks.size(); ++k) builder.send(problem.root, builder.input(chunks[k]));
    return builder.take();
  }
  Owner owner(builder, chunks.size(), chunks.longest());
  for (std::size_t k = 0; k < chunks.size(); ++k) {
    owner.receive(k, chunks[k].count);
    owner.reduce(k, builder.input(chunks[k]), builder.output(chunks[k], Form::result));
  }
  return builder.take();
}

Load load(const Problem& problem) {
  Load load =
      root_load(problem, {total_bytes(problem) * (problem.ranks - 1), 1, problem.ranks - 1.0, total_bytes(problem)});
  load.reduced_bytes = total_bytes(problem) * problem.ranks;
  return load;
}

}  // namespace

Algorithm reduce_direct() { return {"direct", Operation::reduce, always, build, load}; }

}  // namespace railweave::collectives

// The owner of each part receives every rank's input of the part and reduces once.
#include <algorithm>

#include "collectives/schedule/algorithms/flow.h"
#include "collectives/schedule/algorithms/owner.h"
#include "collectives/schedule/algorithms/table.h"

namespace railweave::collectives {
namespace {

Schedule build(const Problem& problem) {
  const Layout layout = Layout::of_counts(problem.counts);
  const Range own = layout[problem.rank];
  const Chunks mine(problem, own);
  std::vector<Chunks> theirs;  // by distance - 1
  std::size_t most = mine.size();
  for (int distance = 1; distance < problem.ranks; ++distance) {
    theirs.emplace_back(problem, layout[around(problem, problem.rank, distance)]);
    most = std::max(most, theirs.back().size());
  }
  Builder builder(problem);
  Owner owner(builder, mine.size(), mine.longest());
  for (std::size_t k = 0; k < most; ++k) {
    if (k < mine.size()) owner.receive(k, mine[k].count);
    for (int distance = 1; distance < problem.ranks; ++distance) {
      const Chunks& chunks = theirs[std::size_t(distance - 1)];
      if (k < chunks.size()) builder.send(around(problem, problem.rank, distance), builder.input(chunks[k]));
    }
    if (k >= mine.size()) continue;
    const Range chunk = mine[k];
    owner.reduce(k, builder.input(chunk), builder.output({chunk.first - own.first, chunk.count}, Form::result));
  }
  return builder.take();
}

Load load(const Problem& problem) {
  const double others = total_bytes(problem) * (problem.ranks - 1) / problem.ranks;
  Load load = all_pairs_load(problem, {others, 1, problem.ranks - 1.0, largest_bytes(problem)});
  load.reduced_bytes = largest_bytes(problem) * problem.ranks;
  return load;
}

}  // namespace

Algorithm reduce_scatter_direct() { return {"direct", Operation::reduce_scatter, always, build, load}; }

}  // namespace railweave::collectives

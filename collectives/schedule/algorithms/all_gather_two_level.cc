// Each part travels once to every other host, and from there to the ranks of the host.
#include "collectives/schedule/algorithms/flow.h"
#include "collectives/schedule/algorithms/table.h"
#include "collectives/schedule/algorithms/two_level.h"

namespace railweave::collectives {
namespace {

Schedule build(const Problem& problem) {
  const Layout layout = Layout::of_counts(problem.counts);
  const Range own = layout[problem.rank];
  const Hosts hosts(problem);
  const Shards shards(problem, layout);
  Builder builder(problem);
  const auto place_of = [&builder, own](Range chunk) {
    return builder.input({chunk.count == 0 ? 0 : chunk.first - own.first, chunk.count});
  };
  TwoLevelSpread spread(builder, hosts, shards, place_of);
  for (std::size_t k = 0; k < shards.most() + kLag; ++k) {
    spread.from_owners(k);
    if (k >= kLag) spread.from_delegates(k - kLag);
    const Range mine = shards.chunk(problem.rank, k);
    builder.copy(place_of(mine), builder.output(mine));
  }
  return builder.take();
}

Load load(const Problem& problem) {
  Load load = two_level_load(problem, 1, total_bytes(problem));
  load.reduced_bytes = largest_bytes(problem);
  return load;
}

}  // namespace

Algorithm all_gather_two_level() { return {"two_level", Operation::all_gather, two_levels, build, load}; }

}  // namespace railweave::collectives

// Inputs are reduced within each host, then between hosts; results take the same way back. Between two hosts each shard
// travels once as a partial sum and once as a result.
#include "collectives/schedule/algorithms/flow.h"
#include "collectives/schedule/algorithms/table.h"
#include "collectives/schedule/algorithms/two_level.h"

namespace railweave::collectives {
namespace {

Schedule build(const Problem& problem) {
  const Hosts hosts(problem);
  const Shards shards(problem, Layout::even(problem, problem.counts[0], problem.ranks));
  Builder builder(problem);
  const auto place_of = [&builder](Range chunk) { return builder.output(chunk, Form::result); };
  TwoLevelReduction reduction(builder, hosts, shards, place_of);
  TwoLevelSpread spread(builder, hosts, shards, place_of);
  for (std::size_t k = 0; k < shards.most() + 3 * kLag; ++k) {
    reduction.within_hosts(k);
    if (k >= kLag) reduction.between_hosts(k - kLag);
    if (k >= 2 * kLag) spread.from_owners(k - 2 * kLag);
    if (k >= 3 * kLag) spread.from_delegates(k - 3 * kLag);
  }
  return builder.take();
}

Load load(const Problem& problem) {
  Load load = two_level_load(problem, 2, total_bytes(problem) * (1 + widening(problem)));
  load.reduced_bytes = two_level_reduced_bytes(problem);
  return load;
}

}  // namespace

Algorithm all_reduce_two_level() { return {"two_level", Operation::all_reduce, two_levels, build, load}; }

}  // namespace railweave::collectives

// Inputs are reduced within each host. Between hosts travel partial sums, one of each part from each host.
#include "collectives/schedule/algorithms/flow.h"
#include "collectives/schedule/algorithms/table.h"
#include "collectives/schedule/algorithms/two_level.h"

namespace railweave::collectives {
namespace {

Schedule build(const Problem& problem) {
  const Layout layout = Layout::of_counts(problem.counts);
  const std::size_t own_first = layout[problem.rank].first;
  const Hosts hosts(problem);
  const Shards shards(problem, layout);
  Builder builder(problem);
  TwoLevelReduction reduction(builder, hosts, shards, [&builder, own_first](Range chunk) {
    return builder.output({chunk.first - own_first, chunk.count}, Form::result);
  });
  for (std::size_t k = 0; k < shards.most() + kLag; ++k) {
    reduction.within_hosts(k);
    if (k >= kLag) reduction.between_hosts(k - kLag);
  }
  return builder.take();
}

Load load(const Problem& problem) {
  Load load = two_level_load(problem, 1, total_bytes(problem) * widening(problem));
  load.reduced_bytes = two_level_reduced_bytes(problem);
  return load;
}

}  // namespace

Algorithm reduce_scatter_two_level() { return {"two_level", Operation::reduce_scatter, two_levels, build, load}; }

}  // namespace railweave::collectives

// In round i each rank notifies the rank 2^i after it that it and all ranks that it heard from have arrived.
#include "collectives/schedule/algorithms/flow.h"
#include "collectives/schedule/algorithms/table.h"
#include "collectives/schedule/builder.h"

namespace railweave::collectives {
namespace {

Schedule build(const Problem& problem) {
  Builder builder(problem);
  std::vector<Builder::StepId> heard;
  for (int distance = 1; distance < problem.ranks; distance *= 2) {
    builder.send(around(problem, problem.rank, distance), builder.input({}), heard);
    heard.push_back(builder.receive(around(problem, problem.rank, -distance), builder.output({})));
  }
  return builder.take();
}

Load load(const Problem& problem) {
  const double rounds = rounds_of_doubling(problem);
  return all_pairs_load(problem, {0, rounds, rounds, 0});
}

}  // namespace

Algorithm barrier_dissemination() { return {"dissemination", Operation::barrier, always, build, load}; }

}  // namespace railweave::collectives

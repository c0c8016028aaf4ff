#include "collectives/schedule/checker.h"

#include "collectives/schedule/proof/races.h"
#include "collectives/schedule/proof/shape.h"
#include "collectives/schedule/proof/symbolic_execution.h"

namespace railweave::collectives {

Status check(std::span<const Problem> problems, std::span<const Schedule> schedules, const CheckOptions& options) {
  if (problems.empty() || problems.size() != schedules.size())
    return proof::wrong("as many schedules as ranks are needed");
  for (std::size_t rank = 0; rank < problems.size(); ++rank) {
    if (problems[rank].rank != int(rank) || problems[rank].ranks != int(problems.size()))
      return proof::wrong("problem " + std::to_string(rank) + " is of another rank");
    if (Status status = proof::check_shape(problems[rank], schedules[rank]); !status.ok()) return status;
    if (Status status = proof::check_races(problems[rank], schedules[rank]); !status.ok()) return status;
  }
  return proof::SymbolicExecution(problems, schedules, options.window).run();
}

}  // namespace railweave::collectives

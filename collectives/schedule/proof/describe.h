// Texts of the checker about steps.
#pragma once

#include <string>

#include "collectives/schedule/problem.h"
#include "collectives/schedule/schedule.h"
#include "railweave/status.h"

namespace railweave::collectives::proof {

Status wrong(std::string message);
// Code::internal, with a message such as "rank 2 step 17 (send of 4096 bytes to rank 3): WHAT".
Status wrong(const Problem& problem, const Schedule& schedule, std::size_t step, const std::string& what);
std::string describe(const Problem& problem, const Schedule& schedule, std::size_t step);

}  // namespace railweave::collectives::proof

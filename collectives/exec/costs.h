// Measures the costs of messages and reductions with a group's own operations. Rank 0's measurement counts for all
// ranks, so that every rank plans by the same numbers.
//
// Rank 0's process caches the costs for later groups with the same placement of ranks on hosts, whatever the hosts and
// engines. One figure, rank 0's for the whole group, counts both within and between hosts. So two-level algorithms are
// chosen by placement, not by measurement.
#pragma once

#include <string>
#include <vector>

#include "collectives/group/group.h"
#include "collectives/rendezvous/rendezvous.h"
#include "collectives/schedule/cost_model.h"

namespace railweave::collectives {

// Returns the costs that all ranks use. Every rank must call this function; the first call takes tens of milliseconds.
// `host_of`: see Problem::host_of. Errors: of the group or the store. An operation that takes longer than `patience`
// ends the group.
Result<Costs> agree_on_costs(Group& group, Rendezvous& place, const std::vector<int>& host_of,
                             Nanos patience = std::chrono::seconds(30));

// Six numbers, separated by blanks. Errors of costs_from_text(): remote (not six numbers).
std::string to_text(const Costs& costs);
Result<Costs> costs_from_text(const std::string& text);

}  // namespace railweave::collectives

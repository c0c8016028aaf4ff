// What messages and reductions cost here, measured by rank 0 of a process's first group with the group's own
// operations, and told to all: every rank plans by the same numbers. Cached for later groups of the process whose ranks
// lie on hosts in the same way, whatever the hosts and engines. One figure stands for both within and between hosts:
// what rank 0 saw of the whole group; so two-level algorithms are chosen by where ranks lie, not by measurement.
#pragma once

#include <string>
#include <vector>

#include "collectives/group/group.h"
#include "collectives/rendezvous/rendezvous.h"
#include "collectives/schedule/cost_model.h"

namespace railweave::collectives {

// Every rank calls it; takes tens of milliseconds the first time. `host_of`: see Problem::host_of. Errors: of the group
// or the store; an operation that takes longer than `patience` ends the group.
Result<Costs> agree_on_costs(Group& group, Rendezvous& place, const std::vector<int>& host_of,
                             Nanos patience = std::chrono::seconds(30));

std::string to_text(const Costs& costs);
Result<Costs> costs_from_text(const std::string& text);

}  // namespace railweave::collectives

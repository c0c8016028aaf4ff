#include "collectives/schedule/algorithms/hosts.h"

#include "collectives/schedule/load.h"

namespace railweave::collectives {

Hosts::Hosts(const Problem& problem)
    : host_of_(problem.host_of), position_(host_of_.size()), members_(std::size_t(Topology(problem).hosts)) {
  for (std::size_t rank = 0; rank < host_of_.size(); ++rank) {
    std::vector<int>& members = members_[std::size_t(host_of_[rank])];
    position_[rank] = members.size();
    members.push_back(int(rank));
  }
}

int Hosts::delegate(int host, int rank) const {
  if (of(rank) == host) return rank;
  const std::vector<int>& there = members(host);
  return there[position_[std::size_t(rank)] % there.size()];
}

bool two_levels(const Problem& problem) {
  if (problem.host_of.empty()) return false;
  const Topology where(problem);
  return where.hosts > 1 && where.ranks_per_host > 1;
}

}  // namespace railweave::collectives

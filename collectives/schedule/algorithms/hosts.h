// Who shares a host with whom, for algorithms that send between hosts only what must go there.
#pragma once

#include <vector>

#include "collectives/schedule/problem.h"

namespace railweave::collectives {

class Hosts {
 public:
  // REQUIRES: two_levels(problem).
  explicit Hosts(const Problem& problem);
  int count() const { return int(members_.size()); }
  int of(int rank) const { return host_of_[std::size_t(rank)]; }
  // In the order of the ranks.
  const std::vector<int>& members(int host) const { return members_[std::size_t(host)]; }
  // Who deals on a host with what is `rank`'s: the rank itself on its own; on others, spread evenly.
  int delegate(int host, int rank) const;

 private:
  std::vector<int> host_of_;               // by rank
  std::vector<std::size_t> position_;      // by rank: among its host's
  std::vector<std::vector<int>> members_;  // by host
};

// Several hosts, and several ranks on one of them.
bool two_levels(const Problem& problem);

}  // namespace railweave::collectives

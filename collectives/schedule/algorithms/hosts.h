// Maps ranks to hosts, for algorithms that send between hosts only as much as they must.
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
  // Ranks of a host, in ascending order.
  const std::vector<int>& members(int host) const { return members_[std::size_t(host)]; }
  // Returns the rank on `host` that handles the data of `rank`: `rank` itself on its own host; spread evenly on others.
  int delegate(int host, int rank) const;

 private:
  std::vector<int> host_of_;               // by rank
  std::vector<std::size_t> position_;      // by rank: index among the members of its host
  std::vector<std::vector<int>> members_;  // by host
};

// Returns true if there are several hosts, and several ranks on at least one.
bool two_levels(const Problem& problem);

}  // namespace railweave::collectives

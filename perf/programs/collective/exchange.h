// Exchanges facts about a run among the ranks, over the group that is measured.
#pragma once

#include <string>
#include <vector>

#include "collectives/group/group.h"
#include "railweave/status.h"

namespace railweave::perf::collective {

// Threads: one. Every rank makes the same calls.
class Exchange {
 public:
  explicit Exchange(collectives::Group& group) : group_(group) {}
  Status barrier();
  // Returns the numbers of all ranks, rank after rank. Every rank passes equally many.
  Result<std::vector<double>> numbers(const std::vector<double>& mine);
  // Returns the texts of all ranks, cut to 255 bytes.
  Result<std::vector<std::string>> texts(const std::string& mine);

 private:
  collectives::Group& group_;
};

}  // namespace railweave::perf::collective

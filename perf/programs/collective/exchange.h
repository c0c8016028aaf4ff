// What the ranks tell each other about a run, over the group they measure.
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
  // As many numbers of every rank, rank after rank.
  Result<std::vector<double>> numbers(const std::vector<double>& mine);
  // Texts of at most 255 bytes, cut if longer.
  Result<std::vector<std::string>> texts(const std::string& mine);

 private:
  collectives::Group& group_;
};

}  // namespace railweave::perf::collective

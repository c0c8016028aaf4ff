// What each rank's output must be in the end.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "collectives/schedule/problem.h"
#include "collectives/schedule/proof/contents.h"
#include "collectives/schedule/proof/symbols.h"

namespace railweave::collectives::proof {

class Outcome {
 public:
  Outcome(std::span<const Problem> problems, const Symbols& symbols) : problems_(problems), symbols_(symbols) {}
  // Ranks come in order. Returns what is wrong; empty: nothing.
  std::string add(std::size_t rank, std::span<const Run> output);

 private:
  // Parts of outputs that are moved input: of which rank, from where.
  std::vector<Run> moved(std::size_t rank) const;
  std::string compare(std::span<const Run> output, std::span<const Run> expected) const;
  std::string check_reduced(std::size_t rank, std::span<const Run> output);

  std::span<const Problem> problems_;
  const Symbols& symbols_;
  std::vector<Run> first_;  // all_reduce: rank 0's output
};

}  // namespace railweave::collectives::proof

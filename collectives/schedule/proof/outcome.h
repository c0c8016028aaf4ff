// Checks each rank's output after the symbolic execution.
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
  // Checks one rank's output. Returns the fault, or an empty text. REQUIRES: ranks in ascending order.
  std::string add(std::size_t rank, std::span<const Run> output);

 private:
  // Expected output of operations that only move input: from which rank, and which elements.
  std::vector<Run> moved(std::size_t rank) const;
  std::string compare(std::span<const Run> output, std::span<const Run> expected) const;
  std::string check_reduced(std::size_t rank, std::span<const Run> output);

  std::span<const Problem> problems_;
  const Symbols& symbols_;
  std::vector<Run> first_;  // all_reduce: rank 0's output
};

}  // namespace railweave::collectives::proof

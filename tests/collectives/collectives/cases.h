// Operations with numbers: each rank's input and expected output, and the memory for both.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "collectives/schedule/problem.h"
#include "values.h"

namespace railweave::collectives_test {

struct Case {
  collectives::Operation operation = collectives::Operation::barrier;
  int ranks = 1;
  std::size_t count = 0;  // elements of the vector; if has_parts(): of each part
  collectives::DataType type = collectives::DataType::int64;
  collectives::Reduction reduction = collectives::Reduction::sum;
  bool uneven = false;    // parts of different lengths, some of them empty
  bool in_place = false;  // on ranks where the operation can work in place
  int root = 0;
  std::size_t chunk_bytes = 4096;  // most bytes of one message, about

  bool reduces() const;
  bool has_parts() const;  // one per rank, not one vector for all
  // Returns the number of elements from one rank to another, or to itself. REQUIRES: has_parts().
  std::size_t part(int from, int to) const;
  // As in Problem.
  std::vector<std::size_t> counts(int rank) const;
  std::vector<std::size_t> receive_counts(int rank) const;
  std::string text() const;
};

// Memory of one rank, for one run of a case. Input and output lie in one block; all bytes outside of the output must
// stay as they are.
class CaseMemory {
 public:
  CaseMemory(const Case& one, int rank);
  // Null if the rank has none.
  const std::byte* input() const { return input_bytes_ == 0 ? nullptr : block_.data() + input_at_; }
  std::byte* output() { return output_bytes_ == 0 ? nullptr : block_.data() + output_at_; }
  // Returns what is wrong; "": nothing.
  std::string wrong() const;

 private:
  const Case case_;
  const int rank_;
  std::size_t input_bytes_ = 0, output_bytes_ = 0, input_at_ = 0, output_at_ = 0;
  Bytes block_, expected_;
};

// Returns a case of every type and of each of its reductions. If the operation only moves data: of every type.
std::vector<Case> every_type(collectives::Operation operation, int ranks);

}  // namespace railweave::collectives_test

// Operations with numbers in them: what each rank gives, what it should get, and the memory for both.
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
  std::size_t count = 0;  // elements of the vector, or of each part where there are parts
  collectives::DataType type = collectives::DataType::int64;
  collectives::Reduction reduction = collectives::Reduction::sum;
  bool uneven = false;    // parts of different lengths, some of them nothing
  bool in_place = false;  // on the ranks where the operation knows that
  int root = 0;
  std::size_t chunk_bytes = 4096;  // most bytes of one message, about

  bool reduces() const;
  bool has_parts() const;  // one per rank, not one vector for all
  // Elements that go from one rank to another, itself included. REQUIRES: has_parts().
  std::size_t part(int from, int to) const;
  // As Problem has them.
  std::vector<std::size_t> counts(int rank) const;
  std::vector<std::size_t> receive_counts(int rank) const;
  std::string text() const;
};

// Memory of one rank, for one run of a case. Input and output lie in one block; whatever is not output must stay as it
// was.
class CaseMemory {
 public:
  CaseMemory(const Case& one, int rank);
  // Null where the rank has none.
  const std::byte* input() const { return input_bytes_ == 0 ? nullptr : block_.data() + input_at_; }
  std::byte* output() { return output_bytes_ == 0 ? nullptr : block_.data() + output_at_; }
  // "", or what is not as it should be.
  std::string wrong() const;

 private:
  const Case case_;
  const int rank_;
  std::size_t input_bytes_ = 0, output_bytes_ = 0, input_at_ = 0, output_at_ = 0;
  Bytes block_, expected_;
};

// Every reduction that each type has, or for an operation that moves: every type.
std::vector<Case> every_type(collectives::Operation operation, int ranks);

}  // namespace railweave::collectives_test

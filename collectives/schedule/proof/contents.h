// Contents of one memory, as runs of symbols.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "collectives/schedule/proof/symbols.h"

namespace railweave::collectives::proof {

// Elements `first`, `first` + 1, ... of the data that `symbol` names.
struct Run {
  std::size_t count = 0;
  Symbol symbol = 0;
  std::size_t first = 0;
};

class Contents {
 public:
  void write(std::size_t offset_bytes, std::size_t element_bytes, std::span<const Run> runs);
  // Returns false if part of the range was never written, or was written in elements of another size.
  bool read(std::size_t offset_bytes, std::size_t element_bytes, std::size_t count, std::vector<Run>& runs) const;

 private:
  struct Stretch {
    std::size_t begin, end, element_bytes;
    Symbol symbol;
    std::size_t first;
  };
  std::size_t first_after(std::size_t offset) const;
  void clear(std::size_t begin, std::size_t end);

  std::vector<Stretch> stretches_;  // in order, disjoint
};

}  // namespace railweave::collectives::proof

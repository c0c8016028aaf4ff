// Runs of elements cut into shards (one a rank) and into chunks (one a message). Every rank cuts alike. Cuts lie at
// multiples of 128 bytes from the start of the whole where elements allow it.
#pragma once

#include <cstddef>
#include <vector>

#include "collectives/schedule/problem.h"

namespace railweave::collectives {

struct Range {  // of elements
  std::size_t first = 0;
  std::size_t count = 0;
  std::size_t end() const { return first + count; }
};

// Consecutive shards.
class Layout {
 public:
  // As the operation says: counts[i] elements each.
  static Layout of_counts(const std::vector<std::size_t>& counts);
  // `count` elements in `shards` equal ones, about; some may be empty.
  static Layout even(const Problem& problem, std::size_t count, int shards);

  Range operator[](int shard) const {
    return {begin_[std::size_t(shard)], begin_[std::size_t(shard) + 1] - begin_[std::size_t(shard)]};
  }
  int shards() const { return int(begin_.size()) - 1; }
  Range all() const { return {0, begin_.back()}; }
  Range between(int first, int end) const {
    return {begin_[std::size_t(first)], begin_[std::size_t(end)] - begin_[std::size_t(first)]};
  }

 private:
  std::vector<std::size_t> begin_;  // one more than shards
};

// The chunks of a run: of problem.chunk_bytes, about; none of them empty; one if it is no longer than that.
class Chunks {
 public:
  Chunks(const Problem& problem, Range whole);
  std::size_t size() const { return chunks_; }
  // Beyond the last: empty.
  Range operator[](std::size_t chunk) const;
  // No chunk has more elements.
  std::size_t longest() const;

 private:
  std::size_t begin(std::size_t chunk) const;

  Range whole_;
  std::size_t unit_;   // elements between possible cuts
  std::size_t units_;  // that whole_ touches
  std::size_t chunks_;
};

}  // namespace railweave::collectives

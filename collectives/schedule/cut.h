// Cuts runs of elements into shards (one per rank) and chunks (one per message). Every rank cuts alike. Cuts lie at
// multiples of 128 bytes from the start of the whole, if the element size divides 128.
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
  // Shard i has counts[i] elements.
  static Layout of_counts(const std::vector<std::size_t>& counts);
  // Cuts `count` elements into `shards` shards of about equal size; some may be empty.
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
  std::vector<std::size_t> begin_;  // first element of each shard, then the end
};

// The chunks of a run, each of about problem.chunk_bytes and none empty. A run that is no longer is one chunk.
class Chunks {
 public:
  Chunks(const Problem& problem, Range whole);
  std::size_t size() const { return chunks_; }
  // Returns an empty range beyond the last chunk.
  Range operator[](std::size_t chunk) const;
  // Upper bound of the elements in one chunk.
  std::size_t longest() const;

 private:
  std::size_t begin(std::size_t chunk) const;

  Range whole_;
  std::size_t unit_;   // elements between possible cuts
  std::size_t units_;  // units that whole_ touches
  std::size_t chunks_;
};

}  // namespace railweave::collectives

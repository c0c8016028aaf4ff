// The data check's contents: what each rank sends, and what must come out, computed element by element apart from the
// kernels. They repeat after kTileElements, a prime: no two chunks begin at the same place of it, so that a misplaced
// chunk shows, and yet a check costs about as much as a comparison of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "collectives/kernels/types.h"

namespace railweave::perf::collective {

using collectives::DataType;
using collectives::Reduction;

inline constexpr std::size_t kTileElements = 8191;

// What is filled or reduced.
struct Contents {
  DataType type = DataType::float32;
  bool reduced = false;  // the values suit `reduction`; else any bytes that the type may have
  Reduction reduction = Reduction::sum;
  int ranks = 1;
  std::uint64_t seed = 0;
};

// Every raw operand of premul_sum is multiplied by this.
inline constexpr double kPremulFactor = 2;

class Tile {
 public:
  // What `rank` sends.
  static Tile of_rank(const Contents& contents, int rank);
  // What reducing all ranks' gives.
  static Tile of_all(const Contents& contents);

  // Memory of `count` elements, the first being element `phase`. Needs no alignment.
  void fill(std::byte* to, std::size_t count, std::size_t phase) const;
  // How many of them are not as they should be.
  std::size_t count_wrong(const std::byte* found, std::size_t count, std::size_t phase) const;

 private:
  Tile(const Contents& contents);
  bool right(const std::byte* found, const std::byte* wanted) const;

  DataType type_;
  std::size_t element_bytes_;
  double tolerance_ = 0;  // relative; a division may be done by multiplying with the reciprocal
  std::vector<std::byte> elements_;
};

}  // namespace railweave::perf::collective

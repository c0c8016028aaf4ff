// Contents of the data check: what each rank sends and what must come out, computed element by element without the
// kernels. Contents repeat after kTileElements, a prime. No two chunks begin at the same place of the period, so a
// misplaced chunk shows, and a check costs only about a comparison of memory.
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

// How memory is filled or reduced.
struct Contents {
  DataType type = DataType::float32;
  bool reduced = false;  // true: values suit `reduction`; false: any bytes that the type may have
  Reduction reduction = Reduction::sum;
  int ranks = 1;
  std::uint64_t seed = 0;
};

// Factor of premul_sum on every raw operand.
inline constexpr double kPremulFactor = 2;

class Tile {
 public:
  // The elements that `rank` sends.
  static Tile of_rank(const Contents& contents, int rank);
  // The elements that reducing all ranks' contents gives.
  static Tile of_all(const Contents& contents);

  // Writes `count` elements, the first of which is element `phase`. `to` needs no alignment.
  void fill(std::byte* to, std::size_t count, std::size_t phase) const;
  // Returns how many of `count` elements are wrong.
  std::size_t count_wrong(const std::byte* found, std::size_t count, std::size_t phase) const;

 private:
  Tile(const Contents& contents);
  bool right(const std::byte* found, const std::byte* wanted) const;

  DataType type_;
  std::size_t element_bytes_;
  double tolerance_ = 0;  // relative; above 0 where a division may be a multiplication with the reciprocal
  std::vector<std::byte> elements_;
};

}  // namespace railweave::perf::collective

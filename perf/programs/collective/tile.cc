#include "collective/tile.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "collective/element.h"

namespace railweave::perf::collective {
namespace {

// Mixes the bits of three numbers.
std::uint64_t mixed(std::uint64_t seed, std::uint64_t rank, std::uint64_t index) {
  std::uint64_t x = seed * 0x9e3779b97f4a7c15 + rank * 0xd1b54a32d192ed03 + index * 0x8cb92ba72f3d8dd7 + 1;
  for (int round = 0; round < 2; ++round) {
    x ^= x >> 32;
    x *= 0xe9846af9b1a615d;
  }
  return x ^ x >> 28;
}

// Returns floats whose sums and products are exact in any order: quarters up to 25, or powers of two for products.
double chosen_float(Reduction reduction, std::uint64_t bits) {
  if (reduction == Reduction::prod) return std::ldexp(bits & 64 ? -1 : 1, int(bits % 3) - 1);
  return double(int(bits % 201) - 100) / 4;
}

// Returns any integer, since integers wrap; for a mean only small ones, since its sum must not wrap.
std::uint64_t chosen_integer(const Contents& contents, std::uint64_t bits) {
  if (contents.type == DataType::boolean) return bits >> 7 & 1;
  return contents.reduction == Reduction::avg ? bits % std::uint64_t(100 / contents.ranks + 1) : bits;
}

double reduced(Reduction reduction, double a, double b) {
  switch (reduction) {
    case Reduction::prod: return a * b;
    case Reduction::min: return std::min(a, b);
    case Reduction::max: return std::max(a, b);
    default: return a + b;
  }
}

bool less(DataType type, std::uint64_t a, std::uint64_t b) {
  return is_signed(type) ? std::int64_t(a) < std::int64_t(b) : a < b;
}

std::uint64_t reduced(const Contents& contents, std::uint64_t a, std::uint64_t b) {
  const bool truth = contents.type == DataType::boolean;
  switch (contents.reduction) {
    case Reduction::prod: return truth ? a & b : a * b;
    case Reduction::min: return less(contents.type, a, b) ? a : b;
    case Reduction::max: return less(contents.type, a, b) ? b : a;
    case Reduction::band: return a & b;
    case Reduction::bor: return a | b;
    case Reduction::bxor: return a ^ b;
    default: return truth ? a | b : a + b;
  }
}

void random_element(DataType type, std::uint64_t seed, std::uint64_t rank, std::uint64_t index, std::byte* to) {
  const std::size_t bytes = collectives::size_bytes(type);
  for (std::size_t at = 0; at < bytes; at += 8) {
    const std::uint64_t bits = mixed(seed, rank, index * 2 + at / 8);
    const std::uint64_t value = type == DataType::boolean ? bits >> 7 & 1 : bits;
    std::memcpy(to + at, &value, std::min<std::size_t>(8, bytes - at));
  }
}

void float_element(const Contents& contents, int first_rank, int ranks, std::uint64_t index, std::byte* to,
                   bool finish) {
  for (int part = 0; part < float_parts(contents.type); ++part) {
    double value = 0;
    for (int rank = first_rank; rank < first_rank + ranks; ++rank) {
      double one =
          chosen_float(contents.reduction, mixed(contents.seed, std::uint64_t(rank), index * 2 + std::uint64_t(part)));
      if (finish && contents.reduction == Reduction::premul_sum) one *= kPremulFactor;
      value = rank == first_rank ? one : reduced(contents.reduction, value, one);
    }
    if (finish && contents.reduction == Reduction::avg) value /= contents.ranks;
    store_float(contents.type, part, value, to);
  }
}

void integer_element(const Contents& contents, int first_rank, int ranks, std::uint64_t index, std::byte* to,
                     bool finish) {
  std::uint64_t value = 0;
  for (int rank = first_rank; rank < first_rank + ranks; ++rank) {
    std::uint64_t one = chosen_integer(contents, mixed(contents.seed, std::uint64_t(rank), index * 2));
    one = as_stored(contents.type, one);
    if (finish && contents.reduction == Reduction::premul_sum) one *= std::uint64_t(kPremulFactor);
    value = rank == first_rank ? one : as_stored(contents.type, reduced(contents, value, one));
  }
  if (finish && contents.reduction == Reduction::avg) value /= std::uint64_t(contents.ranks);
  std::memcpy(to, &value, collectives::size_bytes(contents.type));
}

}  // namespace

Tile::Tile(const Contents& contents)
    : type_(contents.type),
      element_bytes_(collectives::size_bytes(contents.type)),
      elements_(kTileElements * element_bytes_) {}

Tile Tile::of_rank(const Contents& contents, int rank) {
  Tile tile(contents);
  for (std::size_t i = 0; i < kTileElements; ++i) {
    std::byte* const to = tile.elements_.data() + i * tile.element_bytes_;
    if (!contents.reduced) {
      random_element(contents.type, contents.seed, std::uint64_t(rank), i, to);
    } else if (float_parts(contents.type) > 0) {
      float_element(contents, rank, 1, i, to, false);
    } else {
      integer_element(contents, rank, 1, i, to, false);
    }
  }
  return tile;
}

Tile Tile::of_all(const Contents& contents) {
  Tile tile(contents);
  for (std::size_t i = 0; i < kTileElements; ++i) {
    std::byte* const to = tile.elements_.data() + i * tile.element_bytes_;
    if (float_parts(contents.type) > 0) {
      float_element(contents, 0, contents.ranks, i, to, true);
    } else {
      integer_element(contents, 0, contents.ranks, i, to, true);
    }
  }
  if (contents.reduction == Reduction::avg && float_parts(contents.type) > 0) tile.tolerance_ = epsilon(contents.type);
  return tile;
}

void Tile::fill(std::byte* to, std::size_t count, std::size_t phase) const {
  for (phase %= kTileElements; count > 0; phase = 0) {
    const std::size_t n = std::min(count, kTileElements - phase);
    std::memcpy(to, elements_.data() + phase * element_bytes_, n * element_bytes_);
    to += n * element_bytes_;
    count -= n;
  }
}

bool Tile::right(const std::byte* found, const std::byte* wanted) const {
  if (std::memcmp(found, wanted, element_bytes_) == 0) return true;
  if (tolerance_ == 0) return false;
  for (int part = 0; part < float_parts(type_); ++part) {
    const double is = load_float(type_, part, found), should = load_float(type_, part, wanted);
    if (!(std::fabs(is - should) <= tolerance_ * std::fabs(should))) return false;
  }
  return true;
}

std::size_t Tile::count_wrong(const std::byte* found, std::size_t count, std::size_t phase) const {
  std::size_t wrong = 0;
  for (phase %= kTileElements; count > 0; phase = 0) {
    const std::size_t n = std::min(count, kTileElements - phase);
    const std::byte* const wanted = elements_.data() + phase * element_bytes_;
    if (std::memcmp(found, wanted, n * element_bytes_) != 0) {
      for (std::size_t i = 0; i < n; ++i) wrong += !right(found + i * element_bytes_, wanted + i * element_bytes_);
    }
    found += n * element_bytes_;
    count -= n;
  }
  return wrong;
}

}  // namespace railweave::perf::collective

// The results that reduce() must give, computed element by element in double precision and wide integers, without the
// kernels of collectives/kernels/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "collectives/kernels/kernels.h"

namespace railweave::collectives {

// A binary floating-point format of at most 64 bits.
struct Format {
  int exponent_bits;
  int fraction_bits;
};
inline constexpr Format kFloat16{5, 10}, kBfloat16{8, 7}, kFloat32{8, 23}, kFloat64{11, 52};

double decoded(Format format, std::uint64_t bits);
// Rounds to nearest, ties to even. A NaN becomes the positive quiet NaN.
std::uint64_t encoded(Format format, double value);

// Returns what reduce() must write, in fresh memory.
std::vector<std::uint8_t> expected(const Reducing& how, std::span<const Operand> operands, bool finish,
                                   std::size_t count);

// Returns the index of the first element that differs (complex types: of the first part); -1: none. Two NaNs are equal.
std::ptrdiff_t first_difference(DataType type, bool partial, const void* a, const void* b, std::size_t count);

// Writes elements of every kind that the type has: ordinary ones, extremes, NaN, infinities, subnormals, both zeros.
void fill(DataType type, bool partial, void* to, std::size_t count, std::mt19937_64& random);

inline std::size_t bytes_of(DataType type, bool partial) {
  return partial ? partial_size_bytes(type) : size_bytes(type);
}

}  // namespace railweave::collectives

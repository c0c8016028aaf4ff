// Element types and reductions, and which of them combine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace railweave::collectives {

enum class DataType : std::uint8_t {
  int8,
  uint8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  uint64,
  float16,
  bfloat16,
  float32,
  float64,
  complex64,
  complex128,  // two float32, two float64: sum, avg and premul_sum only
  float8_e4m3,
  float8_e5m2,  // both float8 types are moved, never reduced
  boolean,      // one byte, 0 or 1: sum and max are or; prod and min are and
};
inline constexpr int kDataTypes = 17;

enum class Reduction : std::uint8_t { sum, avg, prod, min, max, band, bor, bxor, premul_sum };
inline constexpr int kReductions = 9;

// Bytes of one element.
std::size_t size_bytes(DataType type);
// Bytes of one element of a partial result: of float32 for 16-bit floats (summed in float32, rounded once), else
// size_bytes().
std::size_t partial_size_bytes(DataType type);
// Returns the name that torch uses, such as "float32" or "sum".
std::string_view name(DataType type);
std::string_view name(Reduction reduction);
// Returns true if the type has the reduction. band, bor, bxor: integers and boolean only. prod, min, max: not complex.
// avg, premul_sum: not boolean. float8 has none.
bool supports(DataType type, Reduction reduction);

}  // namespace railweave::collectives

// 16-bit floats, one element at a time: for the data check, which must not lean on the kernels that it checks.
#pragma once

#include <cstdint>

namespace railweave::perf::collective {

// Rounded to nearest, ties to even; too large is infinity.
std::uint16_t to_half(double value);
std::uint16_t to_bfloat16(double value);
double from_half(std::uint16_t bits);
double from_bfloat16(std::uint16_t bits);

}  // namespace railweave::perf::collective

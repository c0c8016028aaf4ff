// Conversions of single 16-bit floats for the data check, which must not depend on the kernels that it checks.
#pragma once

#include <cstdint>

namespace railweave::perf::collective {

// Rounds to nearest, ties to even. Values beyond the largest become infinity.
std::uint16_t to_half(double value);
std::uint16_t to_bfloat16(double value);
double from_half(std::uint16_t bits);
double from_bfloat16(std::uint16_t bits);

}  // namespace railweave::perf::collective

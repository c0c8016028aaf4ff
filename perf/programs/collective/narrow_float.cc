#include "collective/narrow_float.h"

#include <cmath>
#include <limits>

namespace railweave::perf::collective {
namespace {

// A binary float of 16 bits.
struct Format {
  int exponent_bits, fraction_bits;
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  int top_exponent() const { return (1 << exponent_bits) - 1; }  // of infinity and NaN
};
constexpr Format kHalf{5, 10}, kBfloat16{8, 7};

std::uint16_t encode(double value, Format f) {
  const auto sign = std::uint16_t(std::signbit(value) ? 0x8000 : 0);
  const auto infinity = std::uint16_t(f.top_exponent() << f.fraction_bits);
  if (std::isnan(value)) return std::uint16_t(sign | infinity | 1u << (f.fraction_bits - 1));
  if (value == 0) return sign;
  if (std::isinf(value)) return std::uint16_t(sign | infinity);
  int exponent = 0;
  std::frexp(value, &exponent);                                             // |value| in [2^(exponent-1), 2^exponent)
  const int unit = std::max(exponent - 1, 1 - f.bias()) - f.fraction_bits;  // exponent of the last bit
  const auto units = std::uint32_t(std::nearbyint(std::ldexp(std::fabs(value), -unit)));
  // Fewer than 2^fraction_bits units are subnormal. A carry out of the fraction increments the exponent by itself.
  const std::uint32_t biased = std::uint32_t(unit + f.fraction_bits + f.bias() - 1) << f.fraction_bits;
  const std::uint32_t bits = biased + units;
  return std::uint16_t(sign | (bits < infinity ? bits : infinity));
}

double decode(std::uint16_t bits, Format f) {
  const double sign = bits & 0x8000 ? -1 : 1;
  const int exponent = (bits >> f.fraction_bits) & f.top_exponent();
  const int fraction = bits & ((1 << f.fraction_bits) - 1);
  if (exponent == f.top_exponent()) {
    return fraction != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  }
  const int units = exponent == 0 ? fraction : fraction + (1 << f.fraction_bits);
  return sign * std::ldexp(units, std::max(exponent, 1) - f.bias() - f.fraction_bits);
}

}  // namespace

std::uint16_t to_half(double value) { return encode(value, kHalf); }
std::uint16_t to_bfloat16(double value) { return encode(value, kBfloat16); }
double from_half(std::uint16_t bits) { return decode(bits, kHalf); }
double from_bfloat16(std::uint16_t bits) { return decode(bits, kBfloat16); }

}  // namespace railweave::perf::collective

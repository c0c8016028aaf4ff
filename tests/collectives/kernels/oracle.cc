#include "oracle.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace railweave::collectives {
namespace {

// A type as the oracle sees it. A complex number has two parts.
struct Numbers {
  bool is_float;
  bool is_signed;
  Format format;       // floats: of raw elements
  Format accumulator;  // floats
  int bits;            // integers
  int parts;
};

Numbers numbers_of(DataType type) {
  switch (type) {
    case DataType::float16: return {true, true, kFloat16, kFloat32, 0, 1};
    case DataType::bfloat16: return {true, true, kBfloat16, kFloat32, 0, 1};
    case DataType::float32: return {true, true, kFloat32, kFloat32, 0, 1};
    case DataType::float64: return {true, true, kFloat64, kFloat64, 0, 1};
    case DataType::complex64: return {true, true, kFloat32, kFloat32, 0, 2};
    case DataType::complex128: return {true, true, kFloat64, kFloat64, 0, 2};
    case DataType::int8:
    case DataType::int16:
    case DataType::int32:
    case DataType::int64: return {false, true, {}, {}, int(size_bytes(type)) * 8, 1};
    default: return {false, false, {}, {}, int(size_bytes(type)) * 8, 1};
  }
}

std::uint64_t read_bits(const void* data, std::size_t i, std::size_t bytes) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, static_cast<const std::uint8_t*>(data) + i * bytes, bytes);
  return bits;
}

void write_bits(void* to, std::size_t i, std::size_t bytes, std::uint64_t bits) {
  std::memcpy(static_cast<std::uint8_t*>(to) + i * bytes, &bits, bytes);
}

std::size_t bytes_of(Format format) { return std::size_t(1 + format.exponent_bits + format.fraction_bits) / 8; }

// Returns the nearest value that the format has. Adding, multiplying and dividing float32 in double and then rounding
// is exact.
double rounded(Format format, double value) { return decoded(format, encoded(format, value)); }

double extremum(double a, double b, bool least) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
  if (a == b) return std::signbit(a) == least ? a : b;
  return (a < b) == least ? a : b;
}

double combined(Reduction reduction, double a, double b) {
  if (reduction == Reduction::prod) return a * b;
  if (reduction == Reduction::min || reduction == Reduction::max) return extremum(a, b, reduction == Reduction::min);
  return a + b;
}

void reduce_floats(const Reducing& how, const Numbers& numbers, std::span<const Operand> operands, bool finish,
                   std::size_t count, std::uint8_t* to) {
  const Format accumulator = numbers.accumulator;
  const double factor = rounded(accumulator, how.factor);
  for (std::size_t i = 0; i < count; ++i) {
    double sum = 0;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const Format format = operands[k].partial ? accumulator : numbers.format;
      double value = decoded(format, read_bits(operands[k].data, i, bytes_of(format)));
      if (how.reduction == Reduction::premul_sum && !operands[k].partial) value = rounded(accumulator, value * factor);
      sum = k == 0 ? value : rounded(accumulator, combined(how.reduction, sum, value));
    }
    if (finish && how.reduction == Reduction::avg) sum = rounded(accumulator, sum / how.ranks);
    const Format result = finish ? numbers.format : accumulator;
    write_bits(to, i, bytes_of(result), encoded(result, sum));
  }
}

// Returns the value wrapped into the type's range.
__int128 wrapped(__int128 value, const Numbers& numbers) {
  const __int128 range = __int128(1) << numbers.bits;
  value = ((value % range) + range) % range;
  return numbers.is_signed && value >= range / 2 ? value - range : value;
}

__int128 factor_as_integer(double factor, const Numbers& numbers) {
  if (std::isnan(factor)) return 0;
  const double most = std::ldexp(1.0, numbers.is_signed ? numbers.bits - 1 : numbers.bits);
  if (factor >= most) return (__int128(1) << (numbers.is_signed ? numbers.bits - 1 : numbers.bits)) - 1;
  if (numbers.is_signed ? factor <= -most : factor <= 0)
    return numbers.is_signed ? -(__int128(1) << (numbers.bits - 1)) : 0;
  return __int128(std::trunc(factor));
}

__int128 combined(Reduction reduction, __int128 a, __int128 b) {
  switch (reduction) {
    case Reduction::prod: return __int128(static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b));
    case Reduction::min: return std::min(a, b);
    case Reduction::max: return std::max(a, b);
    case Reduction::band: return a & b;
    case Reduction::bor: return a | b;
    case Reduction::bxor: return a ^ b;
    default: return a + b;
  }
}

void reduce_integers(const Reducing& how, const Numbers& numbers, std::span<const Operand> operands, bool finish,
                     std::size_t count, std::uint8_t* to) {
  const std::size_t bytes = std::size_t(numbers.bits) / 8;
  const bool truth = how.type == DataType::boolean;
  const __int128 factor = factor_as_integer(how.factor, numbers);
  for (std::size_t i = 0; i < count; ++i) {
    __int128 sum = 0;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      __int128 value = wrapped(__int128(read_bits(operands[k].data, i, bytes)), numbers);
      if (truth) value = value != 0;
      if (how.reduction == Reduction::premul_sum && !operands[k].partial) value = wrapped(value * factor, numbers);
      sum = k == 0 ? value : wrapped(combined(how.reduction, sum, value), numbers);
      if (truth) sum = sum != 0;
    }
    if (finish && how.reduction == Reduction::avg) sum /= how.ranks;
    write_bits(to, i, bytes, std::uint64_t(sum));
  }
}

std::uint64_t some_float(Format format, std::mt19937_64& random) {
  const int bits = 1 + format.exponent_bits + format.fraction_bits;
  const std::uint64_t sign = std::uint64_t(random() & 1) << (bits - 1);
  const std::uint64_t infinity = ((std::uint64_t(1) << format.exponent_bits) - 1) << format.fraction_bits;
  const std::uint64_t fraction = random() & ((std::uint64_t(1) << format.fraction_bits) - 1);
  switch (random() % 24) {
    case 0: return sign;
    case 1: return sign | infinity;
    case 2: return sign | infinity | (fraction ? fraction : 1);
    case 3: return sign | fraction;        // subnormal
    case 4: return sign | (infinity - 1);  // the greatest finite one
    case 5: return sign | (infinity - (std::uint64_t(1) << format.fraction_bits)) | fraction;
    case 6:
    case 7:
    case 8: return sign | (random() & (infinity | fraction));
    default: return encoded(format, std::ldexp(double(random() % 4096) - 2048, int(random() % 12) - 8));
  }
}

}  // namespace

double decoded(Format format, std::uint64_t bits) {
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const int exponent = int((bits >> format.fraction_bits) & ((1u << format.exponent_bits) - 1));
  const std::uint64_t fraction = bits & ((std::uint64_t(1) << format.fraction_bits) - 1);
  const double sign = (bits >> (format.exponent_bits + format.fraction_bits)) & 1 ? -1.0 : 1.0;
  if (exponent == (1 << format.exponent_bits) - 1)
    return fraction ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  if (exponent == 0) return sign * std::ldexp(double(fraction), 1 - bias - format.fraction_bits);
  return sign * std::ldexp(double(fraction + (std::uint64_t(1) << format.fraction_bits)),
                           exponent - bias - format.fraction_bits);
}

std::uint64_t encoded(Format format, double value) {
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const std::uint64_t infinity = ((std::uint64_t(1) << format.exponent_bits) - 1) << format.fraction_bits;
  if (std::isnan(value)) return infinity | (std::uint64_t(1) << (format.fraction_bits - 1));
  const std::uint64_t sign = std::uint64_t(std::signbit(value)) << (format.exponent_bits + format.fraction_bits);
  const double magnitude = std::fabs(value);
  if (std::isinf(magnitude)) return sign | infinity;
  if (magnitude == 0) return sign;
  // Rounds in units of the last place of numbers of this size. A carry out of the fraction raises the exponent by
  // itself.
  const int exponent = std::max(std::ilogb(magnitude), 1 - bias);
  const double units = std::nearbyint(std::ldexp(magnitude, format.fraction_bits - exponent));
  const std::uint64_t above_subnormals = std::uint64_t(exponent + bias - 1) << format.fraction_bits;
  return sign | std::min(above_subnormals + std::uint64_t(units), infinity);
}

std::vector<std::uint8_t> expected(const Reducing& how, std::span<const Operand> operands, bool finish,
                                   std::size_t count) {
  const Numbers numbers = numbers_of(how.type);
  std::vector<std::uint8_t> to(count * bytes_of(how.type, !finish) + 8);
  if (numbers.is_float) {
    reduce_floats(how, numbers, operands, finish, count * std::size_t(numbers.parts), to.data());
  } else {
    reduce_integers(how, numbers, operands, finish, count, to.data());
  }
  to.resize(to.size() - 8);
  return to;
}

std::ptrdiff_t first_difference(DataType type, bool partial, const void* a, const void* b, std::size_t count) {
  const Numbers numbers = numbers_of(type);
  const Format format = partial ? numbers.accumulator : numbers.format;
  const std::size_t bytes = numbers.is_float ? bytes_of(format) : size_bytes(type);
  for (std::size_t i = 0; i < count * std::size_t(numbers.parts); ++i) {
    const std::uint64_t left = read_bits(a, i, bytes), right = read_bits(b, i, bytes);
    if (left == right) continue;
    if (numbers.is_float && std::isnan(decoded(format, left)) && std::isnan(decoded(format, right))) continue;
    return std::ptrdiff_t(i);
  }
  return -1;
}

void fill(DataType type, bool partial, void* to, std::size_t count, std::mt19937_64& random) {
  const Numbers numbers = numbers_of(type);
  const Format format = partial ? numbers.accumulator : numbers.format;
  const std::size_t bytes = numbers.is_float ? bytes_of(format) : size_bytes(type);
  for (std::size_t i = 0; i < count * std::size_t(numbers.parts); ++i) {
    if (numbers.is_float) {
      write_bits(to, i, bytes, some_float(format, random));
    } else {
      const std::uint64_t extremes[] = {0, 1, ~std::uint64_t(0), std::uint64_t(1) << (numbers.bits - 1),
                                        (std::uint64_t(1) << (numbers.bits - 1)) - 1};
      write_bits(to, i, bytes, random() % 3 ? random() : extremes[random() % 5]);
    }
  }
}

}  // namespace railweave::collectives

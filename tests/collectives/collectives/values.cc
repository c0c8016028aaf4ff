#include "values.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace railweave::collectives_test {

using collectives::DataType;
using collectives::Reduction;

namespace {

std::uint32_t mixed(int r, std::size_t i) { return std::uint32_t(r * 7 + 3) * 2654435761u + std::uint32_t(i) * 40503u; }

// Returns element `i` of rank `r`: 0, 1, 2 or 3 (boolean: 0 or 1).
int value_of(int r, std::size_t i, DataType type) {
  return int((mixed(r, i) >> 16) % (type == DataType::boolean ? 2 : 4));
}

// Small enough that no sum or product of eight leaves what int8 and bfloat16 hold exactly.
int contribution(Reduction reduction, int ranks, int r, std::size_t i, DataType type) {
  const int value = value_of(r, i, type);
  if (reduction == Reduction::avg) return value % 2 * ranks;
  return reduction == Reduction::prod ? std::min(value, 2) : value;
}

int reduced(Reduction reduction, DataType type, int ranks, std::size_t i) {
  const bool boolean = type == DataType::boolean;
  int result = contribution(reduction, 1, 0, i, type);
  for (int r = 1; r < ranks; ++r) {
    const int v = contribution(reduction, 1, r, i, type);
    switch (reduction) {
      case Reduction::sum:
      case Reduction::avg:
      case Reduction::premul_sum: result = boolean ? result | v : result + v; break;
      case Reduction::prod: result = boolean ? result & v : result * v; break;
      case Reduction::min: result = std::min(result, v); break;
      case Reduction::max: result = std::max(result, v); break;
      case Reduction::band: result &= v; break;
      case Reduction::bor: result |= v; break;
      case Reduction::bxor: result ^= v; break;
    }
  }
  return reduction == Reduction::premul_sum ? int(kFactor) * result : result;
}

// Exact for integers up to 2048 (float16) and 256 (bfloat16).
std::uint16_t half_of(int value) {
  if (value == 0) return 0;
  const int exponent = 31 - std::countl_zero(unsigned(value));
  const unsigned mantissa = (unsigned(value) << (10 - exponent)) & 0x3ff;
  return std::uint16_t((exponent + 15) << 10 | int(mantissa));
}

std::uint16_t brain_of(int value) { return std::uint16_t(std::bit_cast<std::uint32_t>(float(value)) >> 16); }

template <class T>
void put(Bytes& to, std::size_t i, T value) {
  std::memcpy(to.data() + i * sizeof value, &value, sizeof value);
}

template <class T>
void put_pair(Bytes& to, std::size_t i, int value) {
  const T pair[2] = {T(value), T(2 * value)};
  std::memcpy(to.data() + i * sizeof pair, pair, sizeof pair);
}

// Stores `value` as element `i`.
void store(Bytes& to, DataType type, std::size_t i, int value) {
  switch (type) {
    case DataType::int8: return put(to, i, std::int8_t(value));
    case DataType::uint8: return put(to, i, std::uint8_t(value));
    case DataType::int16: return put(to, i, std::int16_t(value));
    case DataType::uint16: return put(to, i, std::uint16_t(value));
    case DataType::int32: return put(to, i, std::int32_t(value));
    case DataType::uint32: return put(to, i, std::uint32_t(value));
    case DataType::int64: return put(to, i, std::int64_t(value));
    case DataType::uint64: return put(to, i, std::uint64_t(value));
    case DataType::float16: return put(to, i, half_of(value));
    case DataType::bfloat16: return put(to, i, brain_of(value));
    case DataType::float32: return put(to, i, float(value));
    case DataType::float64: return put(to, i, double(value));
    case DataType::complex64: return put_pair<float>(to, i, value);
    case DataType::complex128: return put_pair<double>(to, i, value);
    case DataType::float8_e4m3:
    case DataType::float8_e5m2:
    case DataType::boolean: return put(to, i, std::uint8_t(value));
  }
}

// Makes room for `count` more elements. Returns the index of the first.
std::size_t grow(Bytes& to, std::size_t count, DataType type) {
  const std::size_t bytes = size_bytes(type), first = to.size() / bytes;
  to.resize((first + count) * bytes);
  return first;
}

}  // namespace

void append_row(Bytes& to, int r, std::size_t first, std::size_t count, DataType type) {
  const std::size_t bytes = size_bytes(type);
  for (std::size_t i = first * bytes; i < (first + count) * bytes; ++i) {
    const std::uint32_t bits = mixed(r, i) >> 16;
    to.push_back(std::byte(type == DataType::boolean ? bits % 2 : bits % 256));
  }
}

void append_contribution(Bytes& to, Reduction reduction, int ranks, int r, std::size_t count, DataType type) {
  const std::size_t at = grow(to, count, type);
  for (std::size_t i = 0; i < count; ++i) store(to, type, at + i, contribution(reduction, ranks, r, i, type));
}

void append_reduced(Bytes& to, Reduction reduction, int ranks, std::size_t first, std::size_t count, DataType type) {
  const std::size_t at = grow(to, count, type);
  for (std::size_t i = 0; i < count; ++i) store(to, type, at + i, reduced(reduction, type, ranks, first + i));
}

}  // namespace railweave::collectives_test

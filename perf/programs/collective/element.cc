#include "collective/element.h"

#include <cstring>

#include "collective/narrow_float.h"

namespace railweave::perf::collective {
namespace {

template <class Value>
void put(std::byte* to, int part, Value value) {
  std::memcpy(to + std::size_t(part) * sizeof value, &value, sizeof value);
}

template <class Value>
Value get(const std::byte* from, int part) {
  Value value;
  std::memcpy(&value, from + std::size_t(part) * sizeof value, sizeof value);
  return value;
}

}  // namespace

int float_parts(DataType type) {
  switch (type) {
    case DataType::float16:
    case DataType::bfloat16:
    case DataType::float32:
    case DataType::float64: return 1;
    case DataType::complex64:
    case DataType::complex128: return 2;
    default: return 0;
  }
}

bool is_signed(DataType type) {
  return type == DataType::int8 || type == DataType::int16 || type == DataType::int32 || type == DataType::int64;
}

double epsilon(DataType type) {
  switch (type) {
    case DataType::float16: return 0x1p-10;
    case DataType::bfloat16: return 0x1p-7;
    case DataType::float32:
    case DataType::complex64: return 0x1p-23;
    default: return 0x1p-52;
  }
}

void store_float(DataType type, int part, double value, std::byte* to) {
  switch (type) {
    case DataType::float16: return put(to, part, to_half(value));
    case DataType::bfloat16: return put(to, part, to_bfloat16(value));
    case DataType::float32:
    case DataType::complex64: return put(to, part, float(value));
    default: return put(to, part, value);
  }
}

double load_float(DataType type, int part, const std::byte* from) {
  switch (type) {
    case DataType::float16: return from_half(get<std::uint16_t>(from, part));
    case DataType::bfloat16: return from_bfloat16(get<std::uint16_t>(from, part));
    case DataType::float32:
    case DataType::complex64: return double(get<float>(from, part));
    default: return get<double>(from, part);
  }
}

std::uint64_t as_stored(DataType type, std::uint64_t value) {
  const std::size_t bits = 8 * collectives::size_bytes(type);
  if (bits >= 64) return value;
  const std::uint64_t cut = value & ((std::uint64_t{1} << bits) - 1);
  const bool negative = is_signed(type) && cut >> (bits - 1) != 0;
  return negative ? cut | ~std::uint64_t{0} << bits : cut;
}

}  // namespace railweave::perf::collective

// Divides integers by the number of ranks, towards zero; one at a time, because no target divides integers in vectors.
#include <cstring>

#include "collectives/kernels/job.h"

namespace railweave::collectives {
namespace {

// Computes floor(n / divisor) by a multiplication, because divisions are slow. ceil(2^64 / divisor) exceeds 2^64 /
// divisor by less than 1. So the product exceeds n / divisor by less than n / 2^64 < 1 / divisor: too little to reach
// the next integer.
class Reciprocal {
 public:
  explicit Reciprocal(std::uint32_t divisor) : by_one_(divisor == 1), scaled_(~std::uint64_t(0) / divisor + 1) {}
  std::uint64_t of(std::uint32_t n) const {
    return by_one_ ? n : std::uint64_t(static_cast<unsigned __int128>(n) * scaled_ >> 64);
  }

 private:
  bool by_one_;
  std::uint64_t scaled_;
};

template <class T>
T quotient(T value, int ranks, const Reciprocal& reciprocal) {
  if constexpr (sizeof(T) == 8) {
    return value / T(ranks);
  } else {
    const bool negative = value < 0;
    const auto magnitude = std::uint32_t(negative ? -std::int64_t(value) : std::int64_t(value));
    const auto result = std::int64_t(reciprocal.of(magnitude));
    return T(negative ? -result : result);
  }
}

template <class T>
void divide(const Job& job) {
  const Reciprocal reciprocal{std::uint32_t(job.ranks)};
  const int ranks = job.ranks;
  unsigned char* at = static_cast<unsigned char*>(job.to) + job.begin * sizeof(T);
  unsigned char* const end = static_cast<unsigned char*>(job.to) + job.end * sizeof(T);
  for (; at != end; at += sizeof(T)) {
    T value;
    std::memcpy(&value, at, sizeof(T));
    value = quotient(value, ranks, reciprocal);
    std::memcpy(at, &value, sizeof(T));
  }
}

}  // namespace

Loop quotient_loop(Element element) {
  switch (element) {
    case Element::i8: return &divide<std::int8_t>;
    case Element::u8: return &divide<std::uint8_t>;
    case Element::i16: return &divide<std::int16_t>;
    case Element::u16: return &divide<std::uint16_t>;
    case Element::i32: return &divide<std::int32_t>;
    case Element::u32: return &divide<std::uint32_t>;
    case Element::i64: return &divide<std::int64_t>;
    case Element::u64: return &divide<std::uint64_t>;
    default: return nullptr;
  }
}

}  // namespace railweave::collectives

// Integers divided by the number of ranks, towards zero. No target has that in vectors: one at a time.
#include <cstring>
#include <type_traits>

#include "collectives/kernels/job.h"

namespace railweave::collectives {
namespace {

template <class T>
void divide(const Job& job) {
  using Wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
  unsigned char* at = static_cast<unsigned char*>(job.to) + job.begin * sizeof(T);
  for (std::size_t i = job.begin; i < job.end; ++i, at += sizeof(T)) {
    T value;
    std::memcpy(&value, at, sizeof(T));
    value = T(Wide(value) / Wide(job.ranks));
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

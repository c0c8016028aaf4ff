#include "base/ascending_copy.h"

#include <cstdint>
#include <cstring>

namespace railweave {
namespace {

// may_alias: the caller's memory holds objects of unknown types.
using Word [[gnu::may_alias]] = std::uint64_t;

// Release: the compiler may neither reorder nor merge nor vectorise the stores, and each store is a plain move on x86.
// With release, TSan would keep a clock for every word (1 GiB for a group that measures its links). So under TSan the
// stores are relaxed: TSan sees the accesses but no order from them. The request orders later readers as well.
#ifdef RW_TSAN  // defined by CMakeLists.txt
constexpr int kOrder = __ATOMIC_RELAXED;
#else
constexpr int kOrder = __ATOMIC_RELEASE;
#endif

void store_byte(std::byte* to, std::byte value) {
  __atomic_store_n(reinterpret_cast<unsigned char*>(to), static_cast<unsigned char>(value), kOrder);
}

}  // namespace

void ascending_copy(std::byte* to, const std::byte* from, std::size_t n) {
  for (; n > 0 && reinterpret_cast<std::uintptr_t>(to) % sizeof(Word) != 0; --n) store_byte(to++, *from++);
  for (; n >= sizeof(Word); n -= sizeof(Word), to += sizeof(Word), from += sizeof(Word)) {
    std::uint64_t value;
    std::memcpy(&value, from, sizeof value);
    __atomic_store_n(reinterpret_cast<Word*>(to), value, kOrder);
  }
  for (; n > 0; --n) store_byte(to++, *from++);
}

}  // namespace railweave

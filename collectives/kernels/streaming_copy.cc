#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "collectives/kernels/streaming_copy.cc"
#include "hwy/foreach_target.h"
// foreach_target.h comes first; the headers below are included once per target.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "collectives/kernels/streaming_copy.h"
#include "collectives/kernels/target.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace railweave::collectives::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Copies whole cache lines by streaming stores, which need aligned addresses, and the ends by memcpy.
void copy_past_caches(unsigned char* to, const unsigned char* from, std::size_t bytes) {
  constexpr std::size_t kLine = 64;
  using Tag = hn::CappedTag<std::uint8_t, kLine>;
  constexpr std::size_t kStep = hn::MaxLanes(Tag());
  const std::size_t before =
      std::min<std::size_t>((kLine - reinterpret_cast<std::uintptr_t>(to) % kLine) % kLine, bytes);
  std::memcpy(to, from, before);
  std::size_t i = before;
  for (; bytes - i >= kLine; i += kLine)
    for (std::size_t k = 0; k < kLine; k += kStep) hn::Stream(hn::LoadU(Tag(), from + i + k), Tag(), to + i + k);
  std::memcpy(to + i, from + i, bytes - i);
  hwy::FlushStream();
}

using Copy = void (*)(unsigned char*, const unsigned char*, std::size_t);
Copy choose_copy() { return &copy_past_caches; }

}  // namespace railweave::collectives::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace railweave::collectives {

void streaming_copy(void* to, const void* from, std::size_t bytes) {
  static const auto copy = RW_FOR_TARGET(targets().back(), choose_copy)();
  copy(static_cast<unsigned char*>(to), static_cast<const unsigned char*>(from), bytes);
}

}  // namespace railweave::collectives
#endif

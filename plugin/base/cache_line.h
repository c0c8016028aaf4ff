// The least distance between data that two threads write at once, so that they share no cache line. Bytes.
#pragma once

#include <cstddef>

namespace railweave {

inline constexpr std::size_t kCacheLineBytes = 64;

}  // namespace railweave

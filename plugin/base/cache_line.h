// What two threads write at once lies this far apart.
#pragma once

#include <cstddef>

namespace railweave {

inline constexpr std::size_t kCacheLineBytes = 64;

}  // namespace railweave

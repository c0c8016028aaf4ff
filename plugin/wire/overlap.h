// overlap() tells whether two ranges of memory share a byte.
#pragma once

#include <cstddef>
#include <span>

namespace railweave::wire {

inline bool overlap(std::span<const std::byte> a, std::span<const std::byte> b) {
  return !a.empty() && !b.empty() && a.data() < b.data() + b.size() && b.data() < a.data() + a.size();
}

}  // namespace railweave::wire

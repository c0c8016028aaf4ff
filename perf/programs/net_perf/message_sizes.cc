#include "net_perf/message_sizes.h"

#include <algorithm>
#include <cmath>

namespace railweave::perf::net_perf {

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a * 0x9E3779B97F4A7C15u + b;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

std::size_t MessageSizes::of(std::uint64_t flow, std::uint64_t sequence) const {
  const auto [smallest, largest] = range_;
  if (smallest == largest) {
    const std::uint64_t before = sequence * largest;
    return before >= total_ ? 0 : std::size_t(std::min<std::uint64_t>(largest, total_ - before));
  }
  const std::uint64_t random = mix(mix(seed_, flow), sequence);
  const double share = double(random >> 11) * 0x1p-53;  // 0 <= share < 1
  switch (random % 16) {
    case 0: return smallest;
    case 1: return largest;
    default: break;
  }
  const double span = double(largest - smallest) + 1;
  const double offset = random % 2 == 0 ? span * share : std::exp2(std::log2(span) * share) - 1;
  return std::min(largest, smallest + std::size_t(offset));
}

std::uint64_t MessageSizes::count_for(std::uint64_t flow, std::uint64_t first, std::uint64_t bytes) const {
  if (range_.smallest == range_.largest) return (bytes + range_.largest - 1) / range_.largest;
  std::uint64_t count = 0;
  for (std::uint64_t sum = 0; sum < bytes; ++count) sum += of(flow, first + count);
  return count;
}

}  // namespace railweave::perf::net_perf

// Computes the length of each message, equally on both ranks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/sizes.h"

namespace railweave::perf::net_perf {

// Mixes two values into 64 well-distributed bits. All randomness of net_perf comes from here.
std::uint64_t mix(std::uint64_t a, std::uint64_t b);

class MessageSizes {
 public:
  static MessageSizes fixed(std::size_t bytes) { return MessageSizes(SizeRange{bytes, bytes}, 0); }
  // One sixteenth each are smallest and largest; half of the rest is uniform, half log-uniform.
  static MessageSizes random(SizeRange range, std::uint64_t seed) { return MessageSizes(range, seed); }
  // Cuts `total` bytes into messages of `bytes`, the last one shorter.
  static MessageSizes cut(std::size_t bytes, std::uint64_t total) {
    MessageSizes sizes = fixed(bytes);
    sizes.total_ = total;
    return sizes;
  }

  std::size_t largest() const { return range_.largest; }
  // Returns the bytes of message `sequence` (from 0) of flow `flow`.
  std::size_t of(std::uint64_t flow, std::uint64_t sequence) const;
  // Returns how many messages from `first` on have at least `bytes` together.
  std::uint64_t count_for(std::uint64_t flow, std::uint64_t first, std::uint64_t bytes) const;

 private:
  MessageSizes(SizeRange range, std::uint64_t seed) : range_(range), seed_(seed) {}
  SizeRange range_;
  std::uint64_t seed_;
  std::uint64_t total_ = ~std::uint64_t{0};
};

}  // namespace railweave::perf::net_perf

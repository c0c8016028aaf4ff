// How long each message is: both ranks compute the same.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/sizes.h"

namespace railweave::perf::net_perf {

// A well-mixed 64-bit value of two others; the source of everything random here.
std::uint64_t mix(std::uint64_t a, std::uint64_t b);

class MessageSizes {
 public:
  static MessageSizes fixed(std::size_t bytes) { return MessageSizes(SizeRange{bytes, bytes}, 0); }
  // One sixteenth each of smallest and largest, the rest half uniform, half log-uniform.
  static MessageSizes random(SizeRange range, std::uint64_t seed) { return MessageSizes(range, seed); }
  // `total` bytes in messages of `bytes`, the last one shorter.
  static MessageSizes cut(std::size_t bytes, std::uint64_t total) {
    MessageSizes sizes = fixed(bytes);
    sizes.total_ = total;
    return sizes;
  }

  std::size_t largest() const { return range_.largest; }
  // Bytes of message `sequence` (from 0) of flow `flow`.
  std::size_t of(std::uint64_t flow, std::uint64_t sequence) const;
  // How many messages from `first` on make at least `bytes`.
  std::uint64_t count_for(std::uint64_t flow, std::uint64_t first, std::uint64_t bytes) const;

 private:
  MessageSizes(SizeRange range, std::uint64_t seed) : range_(range), seed_(seed) {}
  SizeRange range_;
  std::uint64_t seed_;
  std::uint64_t total_ = ~std::uint64_t{0};
};

}  // namespace railweave::perf::net_perf

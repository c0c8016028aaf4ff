// Reads a fuzzer's bytes as the values a target wants. Every value past the end is zero.
#pragma once

#include <cstddef>
#include <cstdint>

namespace railweave::fuzz {

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}

  bool empty() const { return at_ == size_; }
  std::uint8_t u8() { return at_ < size_ ? data_[at_++] : 0; }
  std::uint16_t u16() { return std::uint16_t(u8() | u8() << 8); }
  std::uint64_t u64() {
    std::uint64_t value = 0;
    for (int i = 0; i < 8; ++i) value |= std::uint64_t(u8()) << (8 * i);
    return value;
  }
  // Reads one byte for most numbers worth trying: 0..63, or that number times 128, 1024 or 4099. After the byte 0xff:
  // reads the number from the next eight bytes.
  std::uint64_t number() {
    const std::uint8_t b = u8();
    const std::uint64_t low = b & 63;
    switch (b >> 6) {
      case 0: return low;
      case 1: return low * 128;
      case 2: return low * 1024;
      default: return b == 0xff ? u64() : low * 4099;
    }
  }
  // REQUIRES: n > 0.
  std::size_t below(std::size_t n) { return u8() % n; }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
  std::size_t at_ = 0;
};

}  // namespace railweave::fuzz

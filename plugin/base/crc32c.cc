#include "base/crc32c.h"

#include <array>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace railweave {
namespace {

constexpr std::uint32_t kPolynomialReversed = 0x82F63B78;

// table[k][b]: what byte b does to the CRC when k more bytes follow it ("slicing by 8").
using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint32_t b = 0; b < 256; ++b) {
    std::uint32_t crc = b;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? kPolynomialReversed : 0);
    tables[0][b] = crc;
  }
  for (std::size_t k = 1; k < 8; ++k) {
    for (std::size_t b = 0; b < 256; ++b) {
      const std::uint32_t before = tables[k - 1][b];
      tables[k][b] = (before >> 8) ^ tables[0][before & 0xFF];
    }
  }
  return tables;
}

constexpr Tables kTables = make_tables();

std::uint64_t load_word(const std::byte* p) {
  std::uint64_t word;
  std::memcpy(&word, p, sizeof word);
  return word;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t crc32c_by_instruction(std::span<const std::byte> bytes,
                                                                      std::uint32_t seed) {
  std::uint64_t crc = ~seed;
  const std::byte* p = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; left -= 8, p += 8) crc = _mm_crc32_u64(crc, load_word(p));
  auto crc32 = static_cast<std::uint32_t>(crc);
  for (; left > 0; --left, ++p) crc32 = _mm_crc32_u8(crc32, static_cast<std::uint8_t>(*p));
  return ~crc32;
}
#endif

}  // namespace

std::uint32_t crc32c_by_table(std::span<const std::byte> bytes, std::uint32_t seed) {
  static_assert(std::endian::native == std::endian::little);
  std::uint32_t crc = ~seed;
  const std::byte* p = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; left -= 8, p += 8) {
    const std::uint64_t word = load_word(p) ^ crc;
    crc = 0;
    for (std::size_t i = 0; i < 8; ++i) crc ^= kTables[7 - i][(word >> (8 * i)) & 0xFF];
  }
  for (; left > 0; --left, ++p) crc = (crc >> 8) ^ kTables[0][(crc ^ static_cast<std::uint32_t>(*p)) & 0xFF];
  return ~crc;
}

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t seed) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) return crc32c_by_instruction(bytes, seed);
#endif
  return crc32c_by_table(bytes, seed);
}

}  // namespace railweave

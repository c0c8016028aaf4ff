#include "base/crc32c.h"

#include <array>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#include <nmmintrin.h>
#include <wmmintrin.h>
#endif

namespace railweave {
namespace {

constexpr std::uint32_t kPolynomialReversed = 0x82F63B78;

// table[k][b]: the effect of byte b on the CRC if k more bytes follow ("slicing by 8").
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
// Polynomials modulo P with reversed bits, as in the CRC: bit 31 is 1, bit 0 is x^31.
constexpr std::uint32_t kOne = 0x8000'0000;

constexpr std::uint32_t times_x(std::uint32_t a) { return (a >> 1) ^ ((a & 1) ? kPolynomialReversed : 0); }

constexpr std::uint32_t times(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product = 0;
  for (std::uint32_t bit = kOne; bit != 0; bit >>= 1, b = times_x(b))
    if (a & bit) product ^= b;
  return product;
}

constexpr std::uint32_t x_to_the(std::uint64_t n) {
  std::uint32_t power = kOne;
  for (std::uint32_t square = times_x(kOne); n > 0; n >>= 1, square = times(square, square))
    if (n & 1) power = times(power, square);
  return power;
}

// The factor by which followed_by() multiplies for `bytes` more bytes: x^(8 * bytes - 33). A carry-less product of two
// reversed 32-bit numbers is one bit off the reversed 64-bit product, which is a factor x. The reducing instruction
// brings the factor x^32.
constexpr std::uint32_t factor_for(std::size_t bytes) { return x_to_the(8 * std::uint64_t{bytes} - 33); }

constexpr std::size_t kInThreesFrom = 768;

// Returns the CRC after zero bytes that follow `crc`; `factor` is factor_for(their number).
__attribute__((target("sse4.2,crc32,pclmul"))) inline std::uint64_t followed_by(std::uint32_t factor,
                                                                                std::uint64_t crc) {
  const __m128i product =
      _mm_clmulepi64_si128(_mm_cvtsi64_si128(std::int64_t(crc)), _mm_cvtsi32_si128(std::int32_t(factor)), 0);
  return _mm_crc32_u64(0, std::uint64_t(_mm_cvtsi128_si64(product)));
}

// Processes three neighbouring blocks at once. The CRC instruction has a latency of three cycles, but one can start in
// each cycle.
template <std::size_t kBlock>
__attribute__((target("sse4.2,crc32,pclmul"))) std::uint64_t take_triples(std::uint64_t crc, const std::byte*& p,
                                                                          std::size_t& left) {
  static_assert(kBlock % 8 == 0);
  constexpr std::uint32_t kOneBlock = factor_for(kBlock), kTwoBlocks = factor_for(2 * kBlock);
  for (; left >= 3 * kBlock; left -= 3 * kBlock, p += 3 * kBlock) {
    std::uint64_t second = 0, third = 0;
    for (std::size_t i = 0; i < kBlock; i += 8) {
      crc = _mm_crc32_u64(crc, load_word(p + i));
      second = _mm_crc32_u64(second, load_word(p + kBlock + i));
      third = _mm_crc32_u64(third, load_word(p + 2 * kBlock + i));
    }
    crc = followed_by(kTwoBlocks, crc) ^ followed_by(kOneBlock, second) ^ third;
  }
  return crc;
}

__attribute__((target("sse4.2,crc32"))) std::uint32_t crc32c_by_instruction(std::span<const std::byte> bytes,
                                                                            std::uint32_t seed, bool in_threes) {
  std::uint64_t crc = ~seed;
  const std::byte* p = bytes.data();
  std::size_t left = bytes.size();
  if (in_threes) {
    crc = take_triples<4096>(crc, p, left);
    crc = take_triples<256>(crc, p, left);
  }
  for (; left >= 8; left -= 8, p += 8) crc = _mm_crc32_u64(crc, load_word(p));
  auto crc32 = static_cast<std::uint32_t>(crc);
  for (; left > 0; --left, ++p) crc32 = _mm_crc32_u8(crc32, static_cast<std::uint8_t>(*p));
  return ~crc32;
}

__attribute__((target("sse4.2,crc32"))) std::uint32_t line_by_instruction(std::span<const std::uint64_t, 8> words) {
  std::uint64_t crc = ~std::uint32_t{0};
  for (const std::uint64_t word : words) crc = _mm_crc32_u64(crc, word);
  return ~std::uint32_t(crc);
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

#if defined(__x86_64__)
namespace {

struct Instructions {
  bool crc32 = false;
  bool carry_less_product = false;
};

// __builtin_cpu_supports() needs a library of the compiler's that zig's clang does not have.
Instructions find_instructions() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) return {};
  return {.crc32 = (c & bit_SSE4_2) != 0, .carry_less_product = (c & bit_PCLMUL) != 0};
}

const Instructions& instructions() {
  static const Instructions found = find_instructions();
  return found;
}

}  // namespace
#endif

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t seed) {
#if defined(__x86_64__)
  if (instructions().crc32)
    return crc32c_by_instruction(bytes, seed, bytes.size() >= kInThreesFrom && instructions().carry_less_product);
#endif
  return crc32c_by_table(bytes, seed);
}

std::uint32_t crc32c_of_line(std::span<const std::uint64_t, 8> words) {
#if defined(__x86_64__)
  if (instructions().crc32) return line_by_instruction(words);
#endif
  return crc32c_by_table(std::as_bytes(words));
}

}  // namespace railweave

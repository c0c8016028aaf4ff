#include "base/crc32c.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>
#include <string_view>
#include <vector>

namespace railweave {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

// Vectors of RFC 3720, appendix B.4, and the usual check value.
TEST(Crc32c, known_vectors_have_their_sums) {
  std::vector<std::byte> ascending(32), descending(32);
  for (std::size_t i = 0; i < 32; ++i) {
    ascending[i] = std::byte(i);
    descending[i] = std::byte(31 - i);
  }
  const std::vector<std::pair<std::vector<std::byte>, std::uint32_t>> vectors = {
      {std::vector<std::byte>(32, std::byte{0x00}), 0x8A9136AA},
      {std::vector<std::byte>(32, std::byte{0xFF}), 0x62A8AB43},
      {ascending, 0x46DD794E},
      {descending, 0x113FDB5C},
  };
  for (const auto& [bytes, expected] : vectors) {
    EXPECT_EQ(crc32c(bytes), expected);
    EXPECT_EQ(crc32c_by_table(bytes), expected);
  }
  EXPECT_EQ(crc32c(bytes_of("123456789")), 0xE3069283);
  EXPECT_EQ(crc32c_by_table(bytes_of("123456789")), 0xE3069283);
  EXPECT_EQ(crc32c({}), 0u);
}

TEST(Crc32c, instruction_and_table_agree_at_every_length_and_alignment) {
  std::mt19937 random(1);
  std::vector<std::byte> bytes(400);
  for (std::byte& byte : bytes) byte = std::byte(random());
  for (std::size_t at = 0; at < 8; ++at) {
    for (std::size_t n = 0; n + at <= bytes.size(); ++n) {
      const auto part = std::span(bytes).subspan(at, n);
      ASSERT_EQ(crc32c(part), crc32c_by_table(part)) << "at " << at << " length " << n;
    }
  }
  std::array<std::uint64_t, 8> line;
  std::memcpy(line.data(), bytes.data(), sizeof line);
  EXPECT_EQ(crc32c_of_line(line), crc32c_by_table(std::span(bytes).first(sizeof line)));
}

// Lengths near the sizes at which crc32c() splits long inputs, with a random seed.
TEST(Crc32c, instruction_and_table_agree_on_long_inputs) {
  std::mt19937 random(2);
  std::vector<std::byte> bytes(300'000);
  for (std::byte& byte : bytes) byte = std::byte(random());
  const auto agree = [&](std::size_t at, std::size_t n) {
    const auto part = std::span(bytes).subspan(at, n);
    const auto seed = std::uint32_t(random());
    return crc32c(part, seed) == crc32c_by_table(part, seed);
  };
  for (std::size_t whole : {768u, 1536u, 12288u, 13056u, 24576u, 65536u, 262144u})
    for (std::size_t n = whole - 9; n <= whole + 9; ++n) ASSERT_TRUE(agree(n % 8, n)) << n;
  for (int i = 0; i < 2000; ++i) {
    const std::size_t at = random() % 64, n = random() % (i % 8 ? 30'000 : bytes.size() - 64);
    ASSERT_TRUE(agree(at, n)) << "at " << at << " length " << n;
  }
}

TEST(Crc32c, a_sum_goes_on_from_a_seed) {
  const std::string_view text = "the quick brown fox jumps over the lazy dog";
  const std::uint32_t whole = crc32c(bytes_of(text));
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    EXPECT_EQ(crc32c(bytes_of(text.substr(cut)), crc32c(bytes_of(text.substr(0, cut)))), whole);
    EXPECT_EQ(crc32c_by_table(bytes_of(text.substr(cut)), crc32c_by_table(bytes_of(text.substr(0, cut)))), whole);
  }
}

}  // namespace
}  // namespace railweave

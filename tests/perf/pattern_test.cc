#include "net_perf/pattern.h"

#include <gtest/gtest.h>

#include <cstring>

namespace railweave::perf::net_perf {
namespace {

class PatternTest : public testing::Test {
 protected:
  std::vector<std::byte> message(std::uint64_t flow, std::uint64_t sequence, std::size_t size = 4096) const {
    std::vector<std::byte> bytes(size);
    pattern_.fill(bytes, flow, sequence);
    return bytes;
  }
  Pattern pattern_{1 << 16, 9};
};

TEST_F(PatternTest, its_own_contents_are_right_at_any_length) {
  for (const std::size_t size : {0, 1, 7, 8, 9, 4096, 65535, 65536}) {
    EXPECT_FALSE(pattern_.error(message(1, 2, size), 1, 2)) << size;
  }
}

TEST_F(PatternTest, another_message_flow_or_seed_is_wrong) {
  EXPECT_TRUE(pattern_.error(message(1, 2), 1, 3));
  EXPECT_TRUE(pattern_.error(message(1, 2), 2, 2));
  EXPECT_TRUE(Pattern(1 << 16, 10).error(message(1, 2), 1, 2));
}

TEST_F(PatternTest, one_changed_byte_is_found) {
  auto bytes = message(1, 2);
  bytes[1234] ^= std::byte{1};
  const auto error = pattern_.error(bytes, 1, 2);
  ASSERT_TRUE(error);
  EXPECT_NE(error->find("from byte 1234 on"), std::string::npos) << *error;
  EXPECT_NE(error->find("of no message"), std::string::npos) << *error;
}

TEST_F(PatternTest, misplaced_bytes_are_reported_with_their_distance) {
  auto bytes = message(1, 2);
  const auto right = bytes;
  std::memcpy(bytes.data() + 1024, right.data() + 2048, 128);
  const auto error = pattern_.error(bytes, 1, 2);
  ASSERT_TRUE(error);
  EXPECT_NE(error->find("belongs 1024 bytes away"), std::string::npos) << *error;
}

}  // namespace
}  // namespace railweave::perf::net_perf

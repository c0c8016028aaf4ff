#include "base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

namespace railweave {
namespace {

TEST(RandomId, no_id_comes_twice) {
  std::set<std::array<std::uint8_t, 16>> ids;
  for (int i = 0; i < 1000; ++i) ids.insert(random_id());
  EXPECT_EQ(ids.size(), 1000u);
}

TEST(Hex, two_digits_stand_for_each_byte) {
  EXPECT_EQ(hex(std::array<std::uint8_t, 4>{0x00, 0x0f, 0xa0, 0xff}), "000fa0ff");
  EXPECT_EQ(hex({}), "");
}

TEST(FillWithRandom, every_byte_is_filled_anew_each_time) {
  for (const std::size_t bytes : {1, 32, 256}) {
    std::vector<std::byte> first(bytes), second(bytes), either(bytes);
    for (int i = 0; i < 64; ++i) {  // no random byte is 0 in all rounds
      ASSERT_TRUE(fill_with_random(first).ok());
      for (std::size_t at = 0; at < bytes; ++at) either[at] |= first[at];
    }
    EXPECT_EQ(std::ranges::count(either, std::byte{0}), 0);
    ASSERT_TRUE(fill_with_random(second).ok());
    EXPECT_TRUE(bytes < 32 || first != second);
  }
}

}  // namespace
}  // namespace railweave

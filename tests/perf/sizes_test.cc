#include "common/sizes.h"

#include <gtest/gtest.h>

namespace railweave::perf {
namespace {

TEST(Sizes, reads_what_people_write) {
  EXPECT_EQ(parse_size("0").value(), 0u);
  EXPECT_EQ(parse_size("8").value(), 8u);
  EXPECT_EQ(parse_size("64K").value(), 65536u);
  EXPECT_EQ(parse_size("1m").value(), 1u << 20);
  EXPECT_EQ(parse_size("2G").value(), std::size_t{2} << 30);
}

TEST(Sizes, refuses_what_is_none_and_quotes_it) {
  for (const char* text : {"", "K", "-1", "1.5M", "1MB", "1 M", "99999999999999999999", "18446744073709551615K"}) {
    const auto size = parse_size(text);
    ASSERT_FALSE(size.ok()) << text;
    EXPECT_NE(size.status().message().find("'" + std::string(text) + "'"), std::string::npos);
  }
}

TEST(Sizes, lists_and_ranges) {
  EXPECT_EQ(parse_sizes("8,4K").value(), (std::vector<std::size_t>{8, 4096}));
  EXPECT_FALSE(parse_sizes("8,,4K").ok());
  EXPECT_EQ(parse_size_range("0..8M").value().largest, 8u << 20);
  EXPECT_FALSE(parse_size_range("8M").ok());
  EXPECT_FALSE(parse_size_range("8M..1").ok());
}

TEST(Sizes, prints_the_shortest_exact_form) {
  for (const char* text : {"0", "8", "1000", "4K", "1M", "1536K", "3G"}) {
    EXPECT_EQ(format_size(parse_size(text).value()), text);
  }
}

}  // namespace
}  // namespace railweave::perf

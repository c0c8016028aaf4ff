#include "info/text_table.h"

#include <gtest/gtest.h>

namespace railweave::info {
namespace {

TEST(TextTable, aligns_and_replaces_what_a_terminal_might_obey) {
  TextTable table({"NAME", ">N", "LAST"});
  table.add({"a\x1b", "10", "x"});
  table.add({"long", "7", ""});
  EXPECT_EQ("  NAME   N  LAST\n  a?    10  x\n  long   7  \n", table.text());
}

TEST(TextTable, numbers_have_three_digits_and_a_unit) {
  EXPECT_EQ("0 B", size_text(0));
  EXPECT_EQ("999 B", size_text(999));
  EXPECT_EQ("1.00 KB", size_text(1000));
  EXPECT_EQ("1.00 MB", size_text(999'600));
  EXPECT_EQ("123 GB", size_text(123.4e9));
  EXPECT_EQ("12345 PB", size_text(12345e15));
  EXPECT_EQ("0", speed_text(0));
  EXPECT_EQ("100 Mb/s", speed_text(100));
  EXPECT_EQ("25.0 Gb/s", speed_text(25'000));
  EXPECT_EQ("1600 Gb/s", speed_text(1'600'000));
  EXPECT_EQ("31.2 us", time_text(31'200));
  EXPECT_EQ("120 s", time_text(120e9));
}

}  // namespace
}  // namespace railweave::info

// Parses sizes, and writes figures, rows, headers and footers of the table.
#include <gtest/gtest.h>

#include "collective/byte_count.h"
#include "collective/fitted_number.h"
#include "collective/iteration_times.h"
#include "collective/table.h"

namespace railweave::perf::collective {
namespace {

TEST(ByteCount, takes_fractions_and_suffixes_of_either_case) {
  EXPECT_EQ(*parse_byte_count("8"), 8u);
  EXPECT_EQ(*parse_byte_count("32M"), 32u << 20);
  EXPECT_EQ(*parse_byte_count("1.5k"), 1536u);
  EXPECT_EQ(*parse_byte_count("2g"), 2ull << 30);
  EXPECT_EQ(*parse_byte_count("0"), 0u);
  EXPECT_EQ(*parse_byte_count("1e3"), 1000u);
}

TEST(ByteCount, refuses_what_is_none) {
  for (const char* text : {"", "K", "1T", "1MB", "-8", "8 ", "nan", "1e40", "inf"}) {
    auto parsed = parse_byte_count(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_NE(parsed.status().message().find("'" + std::string(text) + "'"), std::string::npos);
  }
}

TEST(FittedNumber, keeps_the_width_and_as_many_decimals_as_fit) {
  EXPECT_EQ(fitted_number(0, 7), "   0.00");
  EXPECT_EQ(fitted_number(2934.61, 7), "2934.61");
  EXPECT_EQ(fitted_number(12345.67, 7), "12345.7");
  EXPECT_EQ(fitted_number(123457.2, 7), " 123457");
  EXPECT_EQ(fitted_number(1234567, 7), "1234567");
  EXPECT_EQ(fitted_number(12345678, 7), "1.2e+07");
  EXPECT_EQ(fitted_number(1234.56, 6), "1234.6");
  EXPECT_EQ(fitted_number(999.999, 6), "1000.0");
  EXPECT_EQ(fitted_number(123456.7, 6), "123457");
  EXPECT_EQ(fitted_number(1234567, 6), " 1e+06");
}

TEST(Table, rows_are_those_of_the_reference) {
  const Row row{33554432, 8388608, "float", "sum", -1};
  Measured out, in;
  out = {2934.61, 11.434, 17.151, 0, {}};
  in = {123457, 1234.6, 0.27, std::nullopt, {}};
  EXPECT_EQ(row_text(row) + measured_text(out) + measured_text(in) + row_end_text({}, ""),
            "    33554432       8388608     float     sum      -1  2934.61   11.43   17.15       0"
            "   123457  1234.6    0.27    N/A\n");
}

TEST(Table, headers_are_those_of_the_reference) {
  EXPECT_EQ(
      header_text({}),
      "#\n"
      "#                                                              out-of-place                       in-place      "
      "    \n"
      "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  "
      "#wrong \n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)  "
      "       \n");
}

TEST(Table, footers_say_whether_the_run_is_good) {
  EXPECT_EQ(
      footer_text({0, 17.1523, -1}, "x_perf"),
      "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 17.1523 \n#\n# Collective test concluded: x_perf\n");
  const Summary slow{2, 8.9, 10};
  EXPECT_FALSE(slow.good());
  EXPECT_EQ(footer_text(slow, "x_perf"),
            "# Out of bounds values : 2 FAILED\n# Avg bus bandwidth    : 8.9 FAILED\n#\n# Collective test concluded: "
            "x_perf\n");
  const Summary fast{0, 9, 10};
  EXPECT_TRUE(fast.good());
  EXPECT_NE(footer_text(fast, "x_perf").find(": 9 OK\n"), std::string::npos);
}

TEST(Table, large_counts_of_wrong_elements_are_shortened) {
  Measured m;
  m.wrong = 12345678;
  EXPECT_EQ(measured_text(m).substr(25), "  1.23457e+07");
}

TEST(IterationTimes, are_of_the_iterations_not_skipped) {
  const IterationTimes it = summarise_iterations({100, 1, 2, 3, 4}, 1);
  EXPECT_EQ(it.min_us, 1);
  EXPECT_EQ(it.max_us, 4);
  EXPECT_EQ(it.mean_us, 2.5);
  EXPECT_EQ(it.p50_us, 3);
  EXPECT_EQ(it.p99_us, 4);
  EXPECT_NEAR(it.deviation_us, 1.118, 0.001);
  EXPECT_EQ(summarise_iterations({5, 6}, 9).times_us, std::vector<double>{6});
}

}  // namespace
}  // namespace railweave::perf::collective

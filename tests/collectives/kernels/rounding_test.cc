// 16-bit floats: conversions of all values, and that a sum is rounded once.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "collectives/kernels/job.h"
#include "oracle.h"

namespace railweave::collectives {
namespace {

struct Half {
  DataType type;
  Format format;
};
constexpr Half kHalves[] = {{DataType::float16, kFloat16}, {DataType::bfloat16, kBfloat16}};

std::uint16_t encode(Half half, double value) { return std::uint16_t(encoded(half.format, value)); }

// Returns the reduction of some 16-bit numbers, rounded to 16 bits.
double reduced(Half half, Target target, Reduction reduction, std::vector<double> values, int ranks = 1,
               double factor = 1) {
  std::vector<std::uint16_t> raw;
  for (const double value : values) raw.push_back(encode(half, value));
  std::vector<Operand> operands;
  for (const std::uint16_t& one : raw) operands.push_back({&one, false});
  std::uint16_t result = 0;
  reduce_on(target, {half.type, reduction, ranks, factor}, operands, &result, true, 1);
  return decoded(half.format, result);
}

TEST(Rounding, every_value_widens_exactly_and_comes_back) {
  std::vector<std::uint16_t> raw(65536), back(65536);
  std::iota(raw.begin(), raw.end(), 0);
  std::vector<float> wide(65536);
  for (const Half half : kHalves)
    for (const Target target : targets()) {
      const Operand narrow{raw.data(), false}, widened{wide.data(), true};
      reduce_on(target, {half.type, Reduction::sum}, {&narrow, 1}, wide.data(), false, raw.size());
      reduce_on(target, {half.type, Reduction::sum}, {&widened, 1}, back.data(), true, raw.size());
      for (std::size_t i = 0; i < raw.size(); ++i) {
        const double value = decoded(half.format, i);
        if (std::isnan(value)) {
          ASSERT_TRUE(std::isnan(wide[i]) && std::isnan(decoded(half.format, back[i]))) << i;
        } else {
          ASSERT_EQ(std::bit_cast<std::uint32_t>(wide[i]), encoded(kFloat32, value)) << i;
          ASSERT_EQ(back[i], raw[i]) << i;
        }
      }
    }
}

TEST(Rounding, to_nearest_even_from_every_neighbourhood) {
  // Every 16-bit number, the points at half and at three quarters of the way to the next one, and the floats beside
  // these.
  for (const Half half : kHalves) {
    std::vector<float> wide;
    for (std::uint32_t bits = 0; bits < 65536; ++bits) {
      const double low = decoded(half.format, bits), high = decoded(half.format, bits + 1);
      const double step = std::isfinite(low) && std::isfinite(high) ? high - low : 0;
      for (const double value : {low, low + step / 2, low + step * 3 / 4}) {
        const float near = float(value);
        wide.insert(wide.end(), {near, std::nextafter(near, INFINITY), std::nextafter(near, -INFINITY)});
      }
    }
    wide.insert(wide.end(), {65519.996f, 65520.0f, 65536.0f, -65520.0f, 3.4028235e38f, -3.4028235e38f, 3.3961776e38f,
                             1e-45f, std::bit_cast<float>(0x7f800001u), std::bit_cast<float>(0xffffffffu)});
    for (const Target target : targets()) {
      std::vector<std::uint16_t> narrow(wide.size());
      const Operand operand{wide.data(), true};
      reduce_on(target, {half.type, Reduction::sum}, {&operand, 1}, narrow.data(), true, wide.size());
      for (std::size_t i = 0; i < wide.size(); ++i) {
        if (std::isnan(wide[i])) {
          ASSERT_TRUE(std::isnan(decoded(half.format, narrow[i]))) << i;
        } else {
          ASSERT_EQ(narrow[i], encode(half, double(wide[i])))
              << name(half.type) << " " << wide[i] << " " << int(target);
        }
      }
    }
  }
}

TEST(Rounding, a_sum_is_rounded_once) {
  const Half float16 = kHalves[0], bfloat16 = kHalves[1];
  for (const Target target : targets()) {
    // Each 1 alone would be lost: it is half of the last place, and ties go to even.
    EXPECT_EQ(reduced(float16, target, Reduction::sum, {2048, 1, 1}), 2050);
    EXPECT_EQ(reduced(bfloat16, target, Reduction::sum, {256, 1, 1}), 258);
    EXPECT_EQ(reduced(float16, target, Reduction::sum, {2048, 1, 1, 1, 1, 1, 1, 1, 1}), 2056);
    EXPECT_EQ(reduced(float16, target, Reduction::avg, {2049 - 1, 1, 1, 1, 1}, 4), 513);
    EXPECT_EQ(reduced(bfloat16, target, Reduction::avg, {256, 1, 1}, 2), 129);
    // Partial sums and products are above the greatest value of the type.
    EXPECT_EQ(reduced(float16, target, Reduction::sum, {60000, 60000, -60000}), 60000);
    EXPECT_EQ(reduced(float16, target, Reduction::avg, {60000, 60000}, 2), 60000);
    EXPECT_EQ(reduced(float16, target, Reduction::prod, {1024, 1024, 0x1p-10}), 1024);
    EXPECT_EQ(reduced(float16, target, Reduction::premul_sum, {2048, 1, 1}, 1, 0x1p-12), 0.5 + 0x1p-11);
    EXPECT_EQ(reduced(float16, target, Reduction::sum, {60000, 60000}), INFINITY);
  }
}

TEST(Rounding, partial_sums_travel_unrounded) {
  for (const Half half : kHalves)
    for (const Target target : targets()) {
      const double big = half.type == DataType::float16 ? 2048 : 256;
      const std::uint16_t first = encode(half, big), one = encode(half, 1);
      float partial = 0;
      const Operand raw[] = {{&first, false}, {&one, false}};
      reduce_on(target, {half.type, Reduction::sum}, raw, &partial, false, 1);
      EXPECT_EQ(double(partial), big + 1);
      const Operand mixed[] = {{&one, false}, {&partial, true}};
      std::uint16_t result = 0;
      reduce_on(target, {half.type, Reduction::sum}, mixed, &result, true, 1);
      EXPECT_EQ(decoded(half.format, result), big + 2);
    }
}

TEST(Rounding, subnormals_are_kept) {
  for (const Half half : kHalves)
    for (const Target target : targets()) {
      const double least = decoded(half.format, 1);
      EXPECT_EQ(reduced(half, target, Reduction::sum, {least, least}), 2 * least);
      EXPECT_EQ(reduced(half, target, Reduction::max, {least, -least, 0}), least);
      EXPECT_EQ(reduced(half, target, Reduction::avg, {3 * least, 3 * least}, 2), 3 * least);
    }
}

}  // namespace
}  // namespace railweave::collectives

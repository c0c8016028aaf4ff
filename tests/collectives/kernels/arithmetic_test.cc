// Single cases of what kernels.h promises, with plain numbers.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "collectives/kernels/job.h"

namespace railweave::collectives {
namespace {

template <class T>
T reduced(Target target, const Reducing& how, const std::vector<T>& values) {
  std::vector<Operand> operands;
  for (const T& value : values) operands.push_back({&value, false});
  T result{};
  reduce_on(target, how, operands, &result, true, 1);
  return result;
}

using Complex = std::array<float, 2>;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(Arithmetic, integers_wrap) {
  for (const Target target : targets()) {
    EXPECT_EQ((reduced<std::int8_t>(target, {DataType::int8, Reduction::sum}, {127, 1})), -128);
    EXPECT_EQ((reduced<std::uint8_t>(target, {DataType::uint8, Reduction::prod}, {200, 3})), 88);
    EXPECT_EQ((reduced<std::int64_t>(target, {DataType::int64, Reduction::sum}, {INT64_MAX, 1})), INT64_MIN);
    EXPECT_EQ((reduced<std::uint64_t>(target, {DataType::uint64, Reduction::prod}, {UINT64_MAX, 3})), UINT64_MAX - 2);
  }
}

TEST(Arithmetic, integer_averages_go_towards_zero) {
  for (const Target target : targets()) {
    EXPECT_EQ((reduced<std::int32_t>(target, {DataType::int32, Reduction::avg, 2}, {-3, -4})), -3);
    EXPECT_EQ((reduced<std::int32_t>(target, {DataType::int32, Reduction::avg, 2}, {3, 4})), 3);
    EXPECT_EQ((reduced<std::uint64_t>(target, {DataType::uint64, Reduction::avg, 3}, {UINT64_MAX - 1, 1})),
              UINT64_MAX / 3);
    // more ranks than the type can hold
    EXPECT_EQ((reduced<std::int8_t>(target, {DataType::int8, Reduction::avg, 1000}, {-128})), 0);
    EXPECT_EQ((reduced<std::uint8_t>(target, {DataType::uint8, Reduction::avg, 255}, {255})), 1);
    EXPECT_EQ((reduced<std::int16_t>(target, {DataType::int16, Reduction::avg, 1}, {INT16_MIN})), INT16_MIN);
  }
}

template <class T>
void check_averages(DataType type) {
  std::vector<T> values;
  for (const T limit : {std::numeric_limits<T>::min(), std::numeric_limits<T>::max()})
    for (T near = 0; near < 100; ++near) values.push_back(T(limit > 0 ? limit - near : limit + near));
  for (int ranks = 1; ranks < INT32_MAX / 3; ranks = ranks < 300 ? ranks + 1 : ranks * 3 - 1) {
    for (int factor = 1; factor < 100; ++factor)
      values[std::size_t(factor)] = T(std::int64_t(ranks) * factor - factor % 2);
    std::vector<T> quotients(values.size());
    const Operand operand{values.data(), false};
    reduce({type, Reduction::avg, ranks}, {&operand, 1}, quotients.data(), true, values.size());
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_EQ(quotients[i], T(__int128(values[i]) / ranks)) << name(type) << " " << i << " " << ranks;
  }
}

TEST(Arithmetic, integer_averages_over_any_number_of_ranks) {
  check_averages<std::int8_t>(DataType::int8);
  check_averages<std::uint8_t>(DataType::uint8);
  check_averages<std::int16_t>(DataType::int16);
  check_averages<std::uint16_t>(DataType::uint16);
  check_averages<std::int32_t>(DataType::int32);
  check_averages<std::uint32_t>(DataType::uint32);
  check_averages<std::int64_t>(DataType::int64);
  check_averages<std::uint64_t>(DataType::uint64);
}

TEST(Arithmetic, a_factor_of_integers_is_converted_first) {
  const auto scaled = [](Target target, double factor) {
    return reduced<std::int32_t>(target, {DataType::int32, Reduction::premul_sum, 1, factor}, {10, 1});
  };
  for (const Target target : targets()) {
    EXPECT_EQ(scaled(target, 2.9), 22);
    EXPECT_EQ(scaled(target, -2.9), -22);
    EXPECT_EQ(scaled(target, std::nan("")), 0);
    EXPECT_EQ(scaled(target, 1e300), std::int32_t(11u * 0x7fffffffu));
    EXPECT_EQ((reduced<std::uint8_t>(target, {DataType::uint8, Reduction::premul_sum, 1, -3}, {10, 1})), 0);
    EXPECT_EQ((reduced<std::uint64_t>(target, {DataType::uint64, Reduction::premul_sum, 1, 0x1p64}, {1})), UINT64_MAX);
  }
}

TEST(Arithmetic, a_factor_is_for_raw_operands_alone) {
  for (const Target target : targets()) {
    const float raw = 3, partial = 100;
    const Operand operands[] = {{&partial, true}, {&raw, false}};
    float result = 0;
    reduce_on(target, {DataType::float32, Reduction::premul_sum, 1, 2}, operands, &result, true, 1);
    EXPECT_EQ(result, 106);
  }
}

// 1 + 2^-12 squared is 1 + 2^-11 + 2^-24, rounded to 1 + 2^-11; with one rounding for both steps 2^-24 would remain.
TEST(Arithmetic, products_are_rounded_before_they_are_added) {
  for (const Target target : targets()) {
    const float x = 1 + 0x1p-12f, minus = -(1 + 0x1p-11f);
    const Operand operands[] = {{&minus, true}, {&x, false}};
    float result = 1;
    reduce_on(target, {DataType::float32, Reduction::premul_sum, 1, double(x)}, operands, &result, true, 1);
    EXPECT_EQ(result, 0);
  }
}

TEST(Arithmetic, any_nan_wins_extrema_wherever_it_is) {
  for (const Target target : targets())
    for (const Reduction reduction : {Reduction::min, Reduction::max})
      for (std::size_t at = 0; at < 3; ++at) {
        std::vector<float> values{1, -INFINITY, INFINITY};
        values[at] = kNan;
        EXPECT_TRUE(std::isnan(reduced<float>(target, {DataType::float32, reduction}, values)));
      }
}

TEST(Arithmetic, minus_zero_is_less_than_zero) {
  for (const Target target : targets())
    for (const auto& zeros : {std::vector<double>{0.0, -0.0}, std::vector<double>{-0.0, 0.0}}) {
      EXPECT_TRUE(std::signbit(reduced<double>(target, {DataType::float64, Reduction::min}, zeros)));
      EXPECT_FALSE(std::signbit(reduced<double>(target, {DataType::float64, Reduction::max}, zeros)));
    }
}

TEST(Arithmetic, truth_values_are_0_or_1) {
  for (const Target target : targets()) {
    const auto truth = [&](Reduction reduction, std::vector<std::uint8_t> values) {
      return int(reduced<std::uint8_t>(target, {DataType::boolean, reduction}, values));
    };
    EXPECT_EQ(truth(Reduction::sum, {2, 255}), 1);
    EXPECT_EQ(truth(Reduction::prod, {2, 1}), 1);  // no bit in common
    EXPECT_EQ(truth(Reduction::band, {128, 1}), 1);
    EXPECT_EQ(truth(Reduction::min, {128, 0}), 0);
    EXPECT_EQ(truth(Reduction::bxor, {2, 1}), 0);
    EXPECT_EQ(truth(Reduction::bxor, {2, 1, 7}), 1);
    EXPECT_EQ(truth(Reduction::max, {64}), 1);
  }
}

TEST(Arithmetic, complex_numbers) {
  for (const Target target : targets()) {
    const std::vector<Complex> values{{1, -2}, {3, 10}};
    EXPECT_EQ(reduced(target, {DataType::complex64, Reduction::sum}, values), (Complex{4, 8}));
    EXPECT_EQ(reduced(target, {DataType::complex64, Reduction::avg, 4}, values), (Complex{1, 2}));
    EXPECT_EQ(reduced(target, {DataType::complex64, Reduction::premul_sum, 1, 0.5}, values), (Complex{2, 4}));
  }
}

TEST(Arithmetic, the_best_target_is_last) {
  for (std::size_t t = 1; t < targets().size(); ++t) EXPECT_LT(targets()[t - 1], targets()[t]);
}

}  // namespace
}  // namespace railweave::collectives

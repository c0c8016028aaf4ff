#include "collectives/kernels/types.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace railweave::collectives {
namespace {

TEST(Types, name__each_its_own) {
  std::set<std::string_view> names;
  for (int t = 0; t < kDataTypes; ++t) names.insert(name(DataType(t)));
  EXPECT_EQ(names.size(), std::size_t(kDataTypes));
  EXPECT_EQ(name(DataType::int8), "int8");
  EXPECT_EQ(name(DataType::bfloat16), "bfloat16");
  EXPECT_EQ(name(DataType::complex128), "complex128");
  EXPECT_EQ(name(DataType::float8_e5m2), "float8_e5m2");
  EXPECT_EQ(name(DataType::boolean), "bool");
  names.clear();
  for (int r = 0; r < kReductions; ++r) names.insert(name(Reduction(r)));
  EXPECT_EQ(names.size(), std::size_t(kReductions));
  EXPECT_EQ(name(Reduction::sum), "sum");
  EXPECT_EQ(name(Reduction::bxor), "bxor");
  EXPECT_EQ(name(Reduction::premul_sum), "premul_sum");
}

TEST(Types, partial_size_bytes__wider_for_16_bit_floats_alone) {
  for (int t = 0; t < kDataTypes; ++t) {
    const auto type = DataType(t);
    const bool half = type == DataType::float16 || type == DataType::bfloat16;
    EXPECT_EQ(partial_size_bytes(type), half ? 4 : size_bytes(type)) << name(type);
  }
  EXPECT_EQ(size_bytes(DataType::float16), 2u);
  EXPECT_EQ(size_bytes(DataType::uint64), 8u);
  EXPECT_EQ(size_bytes(DataType::complex64), 8u);
  EXPECT_EQ(size_bytes(DataType::complex128), 16u);
  EXPECT_EQ(size_bytes(DataType::float8_e4m3), 1u);
  EXPECT_EQ(size_bytes(DataType::boolean), 1u);
}

TEST(Types, supports__what_has_a_meaning) {
  for (int r = 0; r < kReductions; ++r) {
    const auto reduction = Reduction(r);
    const bool bits = reduction == Reduction::band || reduction == Reduction::bor || reduction == Reduction::bxor;
    const bool linear =
        reduction == Reduction::sum || reduction == Reduction::avg || reduction == Reduction::premul_sum;
    EXPECT_TRUE(supports(DataType::int8, reduction)) << name(reduction);
    EXPECT_TRUE(supports(DataType::uint64, reduction)) << name(reduction);
    EXPECT_EQ(supports(DataType::float16, reduction), !bits) << name(reduction);
    EXPECT_EQ(supports(DataType::float64, reduction), !bits) << name(reduction);
    EXPECT_EQ(supports(DataType::complex64, reduction), linear) << name(reduction);
    EXPECT_FALSE(supports(DataType::float8_e4m3, reduction)) << name(reduction);
    EXPECT_FALSE(supports(DataType::float8_e5m2, reduction)) << name(reduction);
    EXPECT_EQ(supports(DataType::boolean, reduction), !linear || reduction == Reduction::sum) << name(reduction);
  }
}

}  // namespace
}  // namespace railweave::collectives

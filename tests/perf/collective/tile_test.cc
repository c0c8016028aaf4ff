// The arithmetic of the data check, compared with a plainer computation.
#include "collective/tile.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "collective/element.h"
#include "collective/narrow_float.h"

namespace railweave::perf::collective {
namespace {

using collectives::kDataTypes;
using collectives::kReductions;
using collectives::size_bytes;

TEST(NarrowFloat, rounds_to_nearest_even) {
  EXPECT_EQ(to_half(1), 0x3c00);
  EXPECT_EQ(to_half(-2), 0xc000);
  EXPECT_EQ(to_half(65504), 0x7bff);
  EXPECT_EQ(to_half(65519.99), 0x7bff);
  EXPECT_EQ(to_half(65520), 0x7c00);
  EXPECT_EQ(to_half(0x1p-24), 0x0001);
  EXPECT_EQ(to_half(0x1p-25), 0x0000);
  EXPECT_EQ(to_half(0x1.8p-25), 0x0001);
  EXPECT_EQ(to_half(1 + 0x1p-11), 0x3c00);
  EXPECT_EQ(to_half(1 + 0x3p-11), 0x3c02);
  EXPECT_EQ(to_bfloat16(1), 0x3f80);
  EXPECT_EQ(to_bfloat16(1 + 0x1p-8), 0x3f80);
  EXPECT_EQ(to_bfloat16(INFINITY), 0x7f80);
}

TEST(NarrowFloat, every_value_comes_back) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const double half = from_half(std::uint16_t(bits)), bfloat = from_bfloat16(std::uint16_t(bits));
    EXPECT_TRUE(std::isnan(half) || to_half(half) == bits) << bits;
    EXPECT_TRUE(std::isnan(bfloat) || to_bfloat16(bfloat) == bits) << bits;
  }
}

TEST(Tile, moved_bytes_are_right_at_any_phase) {
  for (int t = 0; t < kDataTypes; ++t) {
    const Contents what{DataType(t), false, Reduction::sum, 4, 7};
    const std::size_t bytes = size_bytes(what.type), count = 2 * kTileElements + 5;
    std::vector<std::byte> memory(count * bytes + 1);
    const Tile tile = Tile::of_rank(what, 2);
    tile.fill(memory.data() + 1, count, 3 * kTileElements + 11);
    EXPECT_EQ(tile.count_wrong(memory.data() + 1, count, 11), 0u);
    EXPECT_GT(tile.count_wrong(memory.data() + 1, count, 12), 0u);
    if (what.type != DataType::boolean) {
      EXPECT_GT(Tile::of_rank(what, 1).count_wrong(memory.data() + 1, count, 11), count / 2);
    }
    memory[1 + bytes * 9000] ^= std::byte{1};
    EXPECT_EQ(tile.count_wrong(memory.data() + 1, count, 11), 1u);
  }
}

// Reduces one element of all ranks in float64, by the plainest means.
double reduced_float(const Contents& what, const std::vector<double>& values) {
  double result = values[0] * (what.reduction == Reduction::premul_sum ? kPremulFactor : 1);
  for (std::size_t r = 1; r < values.size(); ++r) {
    switch (what.reduction) {
      case Reduction::prod: result *= values[r]; break;
      case Reduction::min: result = std::fmin(result, values[r]); break;
      case Reduction::max: result = std::fmax(result, values[r]); break;
      case Reduction::premul_sum: result += values[r] * kPremulFactor; break;
      default: result += values[r];
    }
  }
  return what.reduction == Reduction::avg ? result / double(values.size()) : result;
}

TEST(Tile, float_reductions_are_what_the_inputs_give) {
  for (const DataType type : {DataType::float16, DataType::bfloat16, DataType::float32, DataType::float64,
                              DataType::complex64, DataType::complex128}) {
    for (int r = 0; r < kReductions; ++r) {
      const Contents what{type, true, Reduction(r), 5, 3};
      if (!collectives::supports(type, what.reduction)) continue;
      std::vector<std::vector<std::byte>> inputs(5, std::vector<std::byte>(kTileElements * size_bytes(type)));
      for (int rank = 0; rank < 5; ++rank) {
        Tile::of_rank(what, rank).fill(inputs[std::size_t(rank)].data(), kTileElements, 0);
      }
      std::vector<std::byte> output(inputs[0].size());
      for (std::size_t i = 0; i < kTileElements; ++i) {
        for (int part = 0; part < float_parts(type); ++part) {
          std::vector<double> values;
          for (const auto& input : inputs)
            values.push_back(load_float(type, part, input.data() + i * size_bytes(type)));
          store_float(type, part, reduced_float(what, values), output.data() + i * size_bytes(type));
        }
      }
      EXPECT_EQ(Tile::of_all(what).count_wrong(output.data(), kTileElements, 0), 0u)
          << collectives::name(type) << " " << collectives::name(what.reduction);
    }
  }
}

TEST(Tile, integers_wrap_and_means_do_not) {
  const Contents sum{DataType::int8, true, Reduction::sum, 3, 1};
  std::vector<std::int8_t> inputs[3], output(kTileElements);
  for (int rank = 0; rank < 3; ++rank) {
    inputs[rank].resize(kTileElements);
    Tile::of_rank(sum, rank).fill(reinterpret_cast<std::byte*>(inputs[rank].data()), kTileElements, 0);
  }
  bool wrapped = false;
  for (std::size_t i = 0; i < kTileElements; ++i) {
    const int total = inputs[0][i] + inputs[1][i] + inputs[2][i];
    wrapped = wrapped || total != std::int8_t(total);
    output[i] = std::int8_t(total);
  }
  EXPECT_TRUE(wrapped);
  EXPECT_EQ(Tile::of_all(sum).count_wrong(reinterpret_cast<std::byte*>(output.data()), kTileElements, 0), 0u);
  const Contents mean{DataType::int8, true, Reduction::avg, 3, 1};
  for (int rank = 0; rank < 3; ++rank) {
    Tile::of_rank(mean, rank).fill(reinterpret_cast<std::byte*>(inputs[rank].data()), kTileElements, 0);
  }
  for (std::size_t i = 0; i < kTileElements; ++i) {
    output[i] = std::int8_t((inputs[0][i] + inputs[1][i] + inputs[2][i]) / 3);
  }
  EXPECT_EQ(Tile::of_all(mean).count_wrong(reinterpret_cast<std::byte*>(output.data()), kTileElements, 0), 0u);
}

TEST(Tile, a_mean_may_be_off_by_the_last_place_and_no_more) {
  const Contents what{DataType::float32, true, Reduction::avg, 3, 2};
  const Tile tile = Tile::of_all(what);
  std::vector<float> output(kTileElements);
  auto* const bytes = reinterpret_cast<std::byte*>(output.data());
  tile.fill(bytes, kTileElements, 0);
  std::size_t first = 0;
  while (output[first] == 0) ++first;
  output[first] = std::nextafter(output[first], 1e9f);
  EXPECT_EQ(tile.count_wrong(bytes, kTileElements, 0), 0u);
  output[first] *= 1.001f;
  EXPECT_EQ(tile.count_wrong(bytes, kTileElements, 0), 1u);
  output[first] = NAN;
  EXPECT_EQ(tile.count_wrong(bytes, kTileElements, 0), 1u);
}

}  // namespace
}  // namespace railweave::perf::collective

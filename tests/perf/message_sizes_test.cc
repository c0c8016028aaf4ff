#include "net_perf/message_sizes.h"

#include <gtest/gtest.h>

namespace railweave::perf::net_perf {
namespace {

TEST(MessageSizes, random_ones_stay_in_range_and_reach_its_ends) {
  const auto sizes = MessageSizes::random({8, 1 << 20}, 3);
  int smallest = 0, largest = 0, small = 0;
  for (std::uint64_t i = 0; i < 10000; ++i) {
    const std::size_t size = sizes.of(5, i);
    ASSERT_GE(size, 8u);
    ASSERT_LE(size, 1u << 20);
    smallest += size == 8;
    largest += size == 1 << 20;
    small += size < 1024;
  }
  EXPECT_GT(smallest, 400);
  EXPECT_GT(largest, 400);
  EXPECT_GT(small, 2000);  // the log-uniform half
}

TEST(MessageSizes, follow_from_seed_flow_and_sequence_alone) {
  const auto a = MessageSizes::random({0, 1 << 20}, 3), b = MessageSizes::random({0, 1 << 20}, 4);
  int alike_flows = 0, alike_seeds = 0;
  for (std::uint64_t i = 0; i < 100; ++i) {
    EXPECT_EQ(a.of(1, i), a.of(1, i));
    alike_flows += a.of(1, i) == a.of(2, i);
    alike_seeds += a.of(1, i) == b.of(1, i);
  }
  EXPECT_LT(alike_flows, 20);
  EXPECT_LT(alike_seeds, 20);
}

TEST(MessageSizes, a_cut_file_adds_up) {
  const auto sizes = MessageSizes::cut(1000, 2500);
  const std::uint64_t count = sizes.count_for(0, 0, 2500);
  ASSERT_EQ(count, 3u);
  EXPECT_EQ(sizes.of(0, 0) + sizes.of(0, 1) + sizes.of(0, 2), 2500u);
  EXPECT_EQ(sizes.of(0, 2), 500u);
  EXPECT_EQ(MessageSizes::cut(1000, 0).count_for(0, 0, 0), 0u);
}

TEST(MessageSizes, count_for_random_sizes_covers_the_bytes) {
  const auto sizes = MessageSizes::random({0, 1000}, 1);
  const std::uint64_t count = sizes.count_for(7, 10, 50000);
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < count; ++i) sum += sizes.of(7, 10 + i);
  EXPECT_GE(sum, 50000u);
  EXPECT_LT(sum - sizes.of(7, 10 + count - 1), 50000u);
}

}  // namespace
}  // namespace railweave::perf::net_perf

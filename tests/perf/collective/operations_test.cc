// The counts, offsets and bandwidth formulas of each operation, against those of nccl-tests.
#include <gtest/gtest.h>

#include "collective/operation.h"

namespace railweave::perf::collective {
namespace {

void expect_shape(const Operation& operation, std::size_t elements, std::size_t element_bytes, int ranks, Shape want) {
  const Shape got = operation.shape(elements, element_bytes, ranks);
  EXPECT_EQ(got.send, want.send) << operation.program;
  EXPECT_EQ(got.receive, want.receive) << operation.program;
  EXPECT_EQ(got.count, want.count) << operation.program;
  EXPECT_EQ(got.send_in_place, want.send_in_place) << operation.program;
  EXPECT_EQ(got.receive_in_place, want.receive_in_place) << operation.program;
}

TEST(Operations, shares_are_whole_units_of_16_bytes) {
  expect_shape(all_gather(), 1000, 4, 3, {332, 996, 332, 332, 0});
  expect_shape(reduce_scatter(), 1000, 4, 3, {996, 332, 332, 0, 332});
  expect_shape(alltoall(), 1000, 4, 3, {996, 996, 332, 0, 0});
  expect_shape(all_gather(), 2, 4, 2, {0, 0, 0, 0, 0});
  expect_shape(all_gather(), 7, 16, 2, {3, 6, 3, 3, 0});
  expect_shape(all_gather(), 100, 1, 3, {32, 96, 32, 32, 0});
}

TEST(Operations, gather_and_scatter_take_any_share) {
  expect_shape(gather(), 1000, 4, 3, {333, 999, 333, 333, 0});
  expect_shape(scatter(), 1000, 4, 3, {999, 333, 333, 0, 333});
}

TEST(Operations, other_operations_take_all_elements) {
  for (const auto* operation : {&all_reduce(), &broadcast(), &reduce(), &sendrecv()}) {
    expect_shape(*operation, 1001, 2, 3, {1001, 1001, 1001, 0, 0});
  }
}

TEST(Operations, bus_bandwidth_is_what_a_wire_would_carry) {
  EXPECT_DOUBLE_EQ(all_reduce().bus_factor(4), 1.5);
  for (const auto* operation : {&all_gather(), &reduce_scatter(), &alltoall(), &gather(), &scatter()}) {
    EXPECT_DOUBLE_EQ(operation->bus_factor(4), 0.75) << operation->program;
    EXPECT_TRUE(operation->counts_all_ranks) << operation->program;
  }
  for (const auto* operation : {&broadcast(), &reduce(), &sendrecv()}) {
    EXPECT_DOUBLE_EQ(operation->bus_factor(4), 1) << operation->program;
    EXPECT_FALSE(operation->counts_all_ranks) << operation->program;
  }
}

TEST(Operations, roots_and_reductions_are_shown_where_there_are_any) {
  for (const auto* operation : {&broadcast(), &reduce(), &gather(), &scatter()}) EXPECT_TRUE(operation->rooted);
  for (const auto* operation : {&all_reduce(), &reduce(), &reduce_scatter()}) EXPECT_TRUE(operation->reduces);
  EXPECT_FALSE(all_gather().rooted || all_gather().reduces);
  EXPECT_FALSE(alltoall().in_place || sendrecv().in_place);
}

TEST(Operations, only_the_root_of_a_reduction_has_a_result) {
  EXPECT_TRUE(reduce().expected({0, 3, 1, 10}).empty());
  EXPECT_EQ(reduce().expected({1, 3, 1, 10}).size(), 1u);
  EXPECT_EQ(gather().expected({1, 3, 1, 10}).size(), 3u);
}

TEST(Operations, each_ranks_result_is_cut_from_the_right_place) {
  EXPECT_EQ(reduce_scatter().expected({2, 3, 0, 10})[0].phase, 20u);
  EXPECT_EQ(scatter().expected({2, 3, 1, 10})[0].source, 1);
  EXPECT_EQ(scatter().expected({2, 3, 1, 10})[0].phase, 20u);
  const auto parts = alltoall().expected({1, 3, 0, 10});
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[2].offset, 20u);
  EXPECT_EQ(parts[2].source, 2);
  EXPECT_EQ(parts[2].phase, 10u);
  EXPECT_EQ(sendrecv().expected({0, 3, 0, 10})[0].source, 2);
}

}  // namespace
}  // namespace railweave::perf::collective

#include "collectives/schedule/cost_model.h"

#include <gtest/gtest.h>

#include "problems.h"

namespace railweave::collectives {
namespace {

using namespace std::chrono_literals;

std::string_view chosen(const Problem& problem, std::string_view named = "", const Costs& costs = {}) {
  return choose(problem, costs, named)->name;
}

Problem of_bytes(Operation operation, int ranks, std::size_t bytes) { return problem_of(operation, ranks, bytes / 4); }

TEST(CostModel, choose__small_all_reduce_in_one_latency_large_in_least_bytes) {
  EXPECT_EQ(chosen(of_bytes(Operation::all_reduce, 2, 8)), "one_shot");
  EXPECT_EQ(chosen(of_bytes(Operation::all_reduce, 4, 4 * KiB)), "one_shot");
  EXPECT_EQ(chosen(of_bytes(Operation::all_reduce, 4, 64 * MiB)), "direct");
  EXPECT_EQ(chosen(of_bytes(Operation::all_reduce, 2, 64 * MiB)), "direct");
}

// Measured between two hosts with two rails of 2 Gb/s each: an algorithm that sends all at once reduces its last chunk
// when nothing else is left to do.
TEST(CostModel, choose__of_some_chunks_the_one_that_reduces_while_it_sends) {
  Costs lab;
  lab.rate_between = Rate::from_megabits(3800);
  for (const std::size_t bytes : {1 * MiB, 2 * MiB, 8 * MiB})
    EXPECT_EQ(chosen(of_bytes(Operation::all_reduce, 2, bytes), "", lab), "direct") << bytes;
}

TEST(CostModel, choose__large_sums_of_16_bit_floats_do_not_travel_wide) {
  for (const Operation operation : {Operation::all_reduce, Operation::reduce_scatter}) {
    Problem problem = of_bytes(operation, 8, 64 * MiB);
    problem.element_bytes = 2;
    EXPECT_EQ(chosen(problem), "direct") << name(operation);
    const Costs costs;
    EXPECT_GT(estimate(problem, algorithm(operation, "ring"), costs),
              1.2 * estimate(problem, algorithm(operation, "direct"), costs));
    problem.partial_bytes = 2;
    EXPECT_LT(estimate(problem, algorithm(operation, "ring"), costs),
              1.1 * estimate(problem, algorithm(operation, "direct"), costs));
  }
}

TEST(CostModel, choose__ranks_that_share_a_host_share_its_rails) {
  Problem problem = of_bytes(Operation::all_reduce, 8, 64 * MiB);
  problem.host_of = {0, 0, 0, 0, 1, 1, 1, 1};
  EXPECT_EQ(chosen(problem), "two_level");
  problem = of_bytes(Operation::all_gather, 8, 8 * MiB);
  problem.host_of = {0, 0, 0, 0, 1, 1, 1, 1};
  EXPECT_EQ(chosen(problem), "two_level");
}

TEST(CostModel, choose__broadcast_by_tree_when_small_and_spread_when_large) {
  EXPECT_EQ(chosen(of_bytes(Operation::broadcast, 8, 64)), "direct");
  EXPECT_EQ(chosen(of_bytes(Operation::broadcast, 200, 64)), "binomial");
  EXPECT_EQ(chosen(of_bytes(Operation::broadcast, 16, 64 * MiB)), "scatter_gather");
  EXPECT_EQ(chosen(of_bytes(Operation::reduce, 16, 64 * MiB)), "chain");
}

TEST(CostModel, choose__all_to_all_in_few_messages_when_small) {
  EXPECT_EQ(chosen(of_bytes(Operation::all_to_all, 64, 64)), "bruck");
  EXPECT_EQ(chosen(of_bytes(Operation::all_to_all, 64, 64 * KiB)), "direct");
  Problem uneven = of_bytes(Operation::all_to_all, 64, 64);
  uneven.uniform = false;
  EXPECT_EQ(chosen(uneven, "bruck"), "direct");  // bruck needs counts that all ranks know
}

TEST(CostModel, choose__few_messages_at_high_latency_few_bytes_at_low_rate) {
  Costs far;
  far.latency_between = 10ms;
  EXPECT_EQ(chosen(of_bytes(Operation::all_reduce, 8, 256 * KiB), "", far), "one_shot");
  Costs slow;
  slow.rate_between = Rate::from_megabits(10);
  EXPECT_NE(chosen(of_bytes(Operation::all_reduce, 8, 256 * KiB), "", slow), "one_shot");
}

TEST(CostModel, choose__the_same_on_every_rank) {
  for (const Algorithm& one : algorithms())
    for (const std::size_t bytes : {4, 1000, 100'000, 10'000'000}) {
      Problem problem = of_bytes(one.operation, 6, bytes);
      problem.host_of = {0, 0, 1, 1, 1, 2};
      problem.root = 2;
      if (!one.fits(problem)) continue;
      const Nanos first = estimate(problem, one, Costs{});
      EXPECT_GE(first, 0ns);
      for (problem.rank = 1; problem.rank < 6; ++problem.rank) {
        problem.in_place = problem.rank % 2 == 1;
        EXPECT_EQ(estimate(problem, one, Costs{}), first) << name(one.operation) << " " << one.name;
      }
    }
}

TEST(CostModel, choose__some_algorithm_for_every_problem) {
  for (const Algorithm& one : algorithms())
    for (const int ranks : {1, 2, 3, 8})
      for (const std::size_t count : {0, 1, 1000}) {
        const Problem problem = problem_of(one.operation, ranks, count);
        const Algorithm* best = choose(problem, Costs{}, "");
        ASSERT_NE(best, nullptr);
        EXPECT_TRUE(best->fits(problem));
        EXPECT_EQ(best->operation, one.operation);
      }
}

TEST(CostModel, estimate__grows_with_bytes) {
  for (const Algorithm& one : algorithms()) {
    if (one.operation == Operation::barrier) continue;
    Nanos before{0};
    for (std::size_t bytes = 4; bytes <= 256 * MiB; bytes *= 4) {
      const Problem problem = of_bytes(one.operation, 8, bytes);
      if (!one.fits(problem)) continue;
      EXPECT_GE(estimate(problem, one, Costs{}), before) << name(one.operation) << " " << one.name << " " << bytes;
      before = estimate(problem, one, Costs{});
    }
  }
}

TEST(AlgorithmChoice, named__for_all_operations_or_for_one) {
  const Problem reduce = of_bytes(Operation::all_reduce, 4, 8), gather = of_bytes(Operation::all_gather, 4, 8);
  EXPECT_EQ(chosen(reduce, "ring"), "ring");
  EXPECT_EQ(chosen(gather, "ring"), "ring");
  EXPECT_EQ(chosen(reduce, "all_reduce=ring"), "ring");
  EXPECT_NE(chosen(gather, "all_reduce=ring"), "ring");
  EXPECT_EQ(chosen(reduce, "ring,all_reduce=recursive_doubling"), "recursive_doubling");
  EXPECT_EQ(chosen(gather, "ring,all_reduce=recursive_doubling"), "ring");
  EXPECT_EQ(chosen(gather, "ring,chain"), "ring");
}

TEST(AlgorithmChoice, named__what_does_not_fit_is_left_to_the_cost) {
  const Problem three = of_bytes(Operation::all_reduce, 3, 8);
  EXPECT_EQ(chosen(three, "recursive_doubling"), chosen(three));
}

TEST(AlgorithmChoice, check__names_what_there_is) {
  EXPECT_TRUE(check_algorithm_choice("").ok());
  EXPECT_TRUE(check_algorithm_choice("ring").ok());
  EXPECT_TRUE(check_algorithm_choice("all_reduce=two_level,broadcast=chain,direct").ok());
  for (const std::string_view bad :
       {"rings", "all_reduce=chain", "allreduce=ring", "=ring", "=ring=", "all_reduce=", ",", "ring,"}) {
    const Status status = check_algorithm_choice(bad);
    ASSERT_FALSE(status.ok()) << bad;
    EXPECT_EQ(status.code(), Code::invalid_config);
    EXPECT_NE(status.message().find("all_reduce=one_shot|direct|recursive_doubling|ring|two_level"), std::string::npos)
        << status.message();
  }
  EXPECT_NE(check_algorithm_choice("ring,all_reduce=chain").message().find("\"all_reduce=chain\""), std::string::npos);
}

}  // namespace
}  // namespace railweave::collectives

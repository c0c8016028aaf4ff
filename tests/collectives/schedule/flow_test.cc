// Large operations on a simple machine take little longer than their bytes need.
#include <gtest/gtest.h>

#include "problems.h"
#include "timing.h"

namespace railweave::collectives {
namespace {

struct Case {
  Operation operation;
  std::string_view name;
  double bytes_each_way;  // shares of the whole vector, with two and four ranks
  double bytes_each_way_four;
};

// The least that must be moved: no algorithm can do with less.
constexpr Case kCases[] = {
    {Operation::all_gather, "direct", 1. / 2, 3. / 4},
    {Operation::all_gather, "ring", 1. / 2, 3. / 4},
    {Operation::all_gather, "recursive_doubling", 1. / 2, 3. / 4},
    {Operation::reduce_scatter, "direct", 1. / 2, 3. / 4},
    {Operation::reduce_scatter, "ring", 1. / 2, 3. / 4},
    {Operation::all_reduce, "direct", 1, 3. / 2},
    {Operation::all_reduce, "ring", 1, 3. / 2},
    {Operation::broadcast, "chain", 1, 1},
    {Operation::broadcast, "scatter_gather", 1, 1},
    {Operation::reduce, "chain", 1, 1},
    {Operation::all_to_all, "direct", 1. / 2, 3. / 4},
};

Problem of_bytes(Operation operation, int ranks, double bytes) {
  return problem_of(operation, ranks,
                    std::size_t(bytes) / 4 / (has_counts_per_rank(operation) ? std::size_t(ranks) : 1));
}

// Returns the duration, in multiples of the time that the bytes need.
double slowness(const Case& one, const Problem& problem, const Machine& machine = {}) {
  const std::vector<Problem> problems = everybody(problem);
  const double total = double(problem.counts[0] * problem.counts.size() * problem.element_bytes);
  const double least =
      total * (problem.ranks == 2 ? one.bytes_each_way : one.bytes_each_way_four) / machine.bytes_per_s;
  return duration_s(problems, build_all(algorithm(one.operation, one.name), problems), machine) / least;
}

TEST(Flow, bytes__no_more_than_must_be_moved) {
  for (const Case& one : kCases)
    for (const int ranks : {2, 4}) {
      const Problem problem = of_bytes(one.operation, ranks, 16 * MiB);
      const Algorithm& chosen = algorithm(one.operation, one.name);
      if (!chosen.fits(problem)) continue;
      const std::vector<Problem> problems = everybody(problem);
      EXPECT_NEAR(bytes_each_way(problems, build_all(chosen, problems)) / (16 * MiB),
                  ranks == 2 ? one.bytes_each_way : one.bytes_each_way_four, 0.001)
          << name(one.operation) << " " << one.name << " " << ranks;
    }
}

TEST(Flow, duration__little_more_than_the_bytes_need) {
  for (const Case& one : kCases)
    for (const int ranks : {2, 4})
      for (const bool in_place : {false, true}) {
        Problem problem = of_bytes(one.operation, ranks, 64 * MiB);
        problem.in_place = in_place && one.operation != Operation::all_to_all;
        if (!algorithm(one.operation, one.name).fits(problem)) continue;
        EXPECT_LT(slowness(one, problem), 1.02) << name(one.operation) << " " << one.name << " " << text(problem);
      }
}

TEST(Flow, duration__no_lag_behind_a_slow_reduction_or_a_long_way) {
  for (const Case& one : kCases) {
    if (one.operation != Operation::all_reduce) continue;
    for (const Machine& machine :
         {Machine{1e-3, 500e6, 8e9, 32}, Machine{100e-6, 500e6, 1.2e9, 32}, Machine{10e-6, 5e9, 12e9, 32}})
      for (const int ranks : {2, 4})
        EXPECT_LT(slowness(one, of_bytes(one.operation, ranks, 64 * MiB), machine), 1.05)
            << one.name << " " << ranks << " " << machine.latency_s;
  }
}

// On this machine, the choice of the cost model is never much slower than the fastest algorithm.
TEST(Flow, choose__takes_what_is_fast) {
  const Machine machine;
  Costs costs;
  costs.latency_between = Nanos(std::int64_t(machine.latency_s * 1e9));
  costs.step_overhead = Nanos{0};
  costs.rate_between = Rate{machine.bytes_per_s};
  costs.reduction = Rate{machine.operands_per_s};
  for (int operation = 0; operation < int(Operation::barrier); ++operation)
    for (const int ranks : {2, 3, 4, 8})
      for (std::size_t bytes = 64; bytes <= 64 * MiB; bytes *= 8) {
        const Problem problem = of_bytes(Operation(operation), ranks, double(bytes));
        const std::vector<Problem> problems = everybody(problem);
        const Algorithm* chosen = choose(problem, costs, "");
        double best = 1e9, taken = 0;
        std::string_view fastest;
        for (const Algorithm& one : algorithms()) {
          if (one.operation != problem.operation || !one.fits(problem)) continue;
          const double time = duration_s(problems, build_all(one, problems), machine);
          if (&one == chosen) taken = time;
          if (time < best) best = time, fastest = one.name;
        }
        EXPECT_LT(taken, 1.1 * best) << name(chosen->operation) << ": " << chosen->name << " for " << fastest << ", "
                                     << ranks << " ranks, " << bytes << " bytes";
      }
}

}  // namespace
}  // namespace railweave::collectives

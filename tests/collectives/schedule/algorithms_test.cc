// Every algorithm, proved by the checker: rank counts, odd counts, in place, roots, wide partial sums.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <ostream>

#include "collectives/schedule/algorithm_choice.h"
#include "problems.h"

namespace railweave::collectives {

void PrintTo(const Algorithm& one, std::ostream* out) { *out << name(one.operation) << " " << one.name; }

namespace {

constexpr int kRanksMost = 64;
constexpr int kManyRanks = 17;                             // above this, fewer cases
constexpr int kThorough[] = {24, 31, 32, 33, 48, 63, 64};  // above kManyRanks; the others have one count

std::vector<int> hosts_of_four(int ranks) {
  std::vector<int> host_of;
  for (int rank = 0; rank < ranks; ++rank) host_of.push_back(rank / 4);
  return host_of;
}

class EveryAlgorithm : public testing::TestWithParam<Algorithm> {
 protected:
  void prove(const Problem& problem, std::size_t window = 1) {
    if (!GetParam().fits(problem)) return;
    ++proved_;
    const Status status = check_all(GetParam(), problem, window);
    ASSERT_TRUE(status.ok()) << text(problem) << ": " << status.message();
  }

  // Proves the problem in place and not, with narrow and wide partial sums, and with up to three roots.
  void prove_variants(Problem problem) {
    std::vector<int> roots{0};
    if (has_root(problem.operation) && problem.ranks > 1) roots = {0, problem.ranks / 2, problem.ranks - 1};
    roots.erase(std::unique(roots.begin(), roots.end()), roots.end());
    for (const int root : roots)
      for (const bool in_place : {false, true})
        for (const bool wide : {false, true}) {
          if (in_place && problem.operation == Operation::all_to_all) continue;
          if (wide && !reduces(problem.operation)) continue;
          if (problem.ranks > kManyRanks && in_place != wide && reduces(problem.operation)) continue;
          problem.root = root;
          problem.in_place = in_place;
          problem.element_bytes = wide ? 2 : 4;
          prove(problem);
          if (HasFatalFailure()) return;
        }
  }

  void prove_counts(int ranks) {
    const Operation operation = GetParam().operation;
    std::vector<std::size_t> counts{0, 1, 3, 100, 1001};
    const bool thorough = ranks <= kManyRanks || std::ranges::find(kThorough, ranks) != std::end(kThorough);
    if (ranks > kManyRanks) counts = thorough ? std::vector<std::size_t>{1, 1001} : std::vector<std::size_t>{101};
    for (const std::size_t count : counts) {
      Problem problem = problem_of(operation, ranks, count);
      problem.host_of = hosts_of_four(ranks);
      problem.chunk_bytes = count > 1000 ? 512 : 256 * 1024;
      prove_variants(problem);
      if (HasFatalFailure()) return;
    }
    if (!has_counts_per_rank(operation) || !thorough) return;
    Problem uneven = uneven_problem_of(operation, ranks, 333);
    uneven.host_of = hosts_of_four(ranks);
    uneven.chunk_bytes = 512;
    prove_variants(uneven);
  }

  int proved_ = 0;
};

TEST_P(EveryAlgorithm, is_right_for_1_to_64_ranks) {
  for (int ranks = 1; ranks <= kRanksMost; ++ranks) {
    prove_counts(ranks);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(proved_, 0);
}

TEST_P(EveryAlgorithm, many_chunks_flow_through_a_few_slots_of_scratch) {
  for (const int ranks : {1, 2, 3, 4, 6, 8}) {
    for (const std::size_t window : {std::size_t{1}, std::size_t{32}}) {
      Problem problem = problem_of(GetParam().operation, ranks, 20'000);
      problem.host_of = hosts_of_four(ranks);
      problem.chunk_bytes = 384;
      prove(problem, window);
      if (HasFatalFailure()) return;
      problem.in_place = problem.operation != Operation::all_to_all;
      prove(problem, window);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(EveryAlgorithm, elements_of_odd_sizes) {
  for (const std::size_t bytes : {1, 2, 8, 12, 16}) {
    Problem problem = problem_of(GetParam().operation, 8, 777);
    problem.host_of = hosts_of_four(8);
    problem.chunk_bytes = 1000;
    problem.element_bytes = problem.partial_bytes = bytes;
    prove(problem);
    if (HasFatalFailure()) return;
  }
}

TEST_P(EveryAlgorithm, at_once__no_message_waits_for_another) {
  if (!GetParam().at_once) return;
  for (const int ranks : {2, 5, 8})
    for (const Problem& problem : everybody(problem_of(GetParam().operation, ranks, 200'000)))
      for (const Step& step : GetParam().build(problem).steps)
        EXPECT_TRUE(step.kind != Step::Kind::send || step.after_begin == step.after_end) << text(problem);
}

TEST_P(EveryAlgorithm, some_ranks_in_place_and_some_not) {
  if (GetParam().operation == Operation::all_to_all) return;
  for (const int ranks : {2, 3, 5, 8})
    for (const std::size_t count : {std::size_t{1001}, std::size_t{20'000}}) {  // many chunks: their order shows
      Problem problem = problem_of(GetParam().operation, ranks, count);
      problem.host_of = hosts_of_four(ranks);
      problem.chunk_bytes = 384;
      if (!GetParam().fits(problem)) continue;
      std::vector<Problem> problems = everybody(problem);
      for (std::size_t rank = 0; rank < problems.size(); ++rank) problems[rank].in_place = rank % 2 == 0;
      const Status status = check(problems, build_all(GetParam(), problems));
      ASSERT_TRUE(status.ok()) << text(problem) << ": " << status.message();
    }
}

TEST_P(EveryAlgorithm, several_ranks_on_a_host) {
  const std::vector<std::vector<int>> layouts{
      {0, 0},       {0, 0, 1},          {0, 1, 0, 1},          {0, 0, 1, 1},
      {0, 0, 0, 1}, {0, 1, 1, 2, 0, 2}, {0, 1, 2, 2, 2, 1, 1}, {0, 0, 0, 0, 1, 1, 1, 1}};
  for (const std::vector<int>& host_of : layouts)
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{100}, std::size_t{3001}}) {
      Problem problem = problem_of(GetParam().operation, int(host_of.size()), count);
      problem.host_of = host_of;
      problem.chunk_bytes = 512;
      prove_variants(problem);
      if (HasFatalFailure()) return;
      if (!has_counts_per_rank(problem.operation)) continue;
      problem = uneven_problem_of(problem.operation, problem.ranks, count);
      problem.host_of = host_of;
      prove_variants(problem);
      if (HasFatalFailure()) return;
    }
}

TEST_P(EveryAlgorithm, more_ranks_than_bits_in_a_word) {
  for (const int ranks : {128, 130}) {
    Problem problem = problem_of(GetParam().operation, ranks, 40);
    problem.host_of = hosts_of_four(ranks);
    prove(problem);
    if (HasFatalFailure()) return;
  }
}

std::string test_name(const testing::TestParamInfo<Algorithm>& info) {
  return std::string(name(info.param.operation)) + "_" + std::string(info.param.name);
}

INSTANTIATE_TEST_SUITE_P(Schedule, EveryAlgorithm, testing::ValuesIn(algorithms().begin(), algorithms().end()),
                         test_name);

}  // namespace
}  // namespace railweave::collectives

#include "problems.h"

#include <gtest/gtest.h>

namespace railweave::collectives {

bool has_counts_per_rank(Operation operation) {
  return operation == Operation::all_gather || operation == Operation::reduce_scatter ||
         operation == Operation::gather || operation == Operation::scatter || operation == Operation::all_to_all;
}

Problem problem_of(Operation operation, int ranks, std::size_t count) {
  Problem problem;
  problem.operation = operation;
  problem.ranks = ranks;
  problem.element_bytes = problem.partial_bytes = 4;
  problem.counts.assign(has_counts_per_rank(operation) ? std::size_t(ranks) : 1, count);
  if (operation == Operation::barrier) problem.counts.clear();
  if (operation == Operation::all_to_all) problem.receive_counts = problem.counts;
  problem.uniform = true;
  return problem;
}

Problem uneven_problem_of(Operation operation, int ranks, std::size_t scale) {
  Problem problem = problem_of(operation, ranks, 0);
  for (std::size_t i = 0; i < problem.counts.size(); ++i) problem.counts[i] = i * 7 % 5 * scale / 2;
  problem.uniform = false;
  return problem;
}

std::vector<Problem> everybody(const Problem& problem) {
  std::vector<Problem> problems(std::size_t(problem.ranks), problem);
  for (std::size_t rank = 0; rank < problems.size(); ++rank) {
    problems[rank].rank = int(rank);
    if (problem.operation != Operation::all_to_all || problem.uniform) continue;
    for (std::size_t peer = 0; peer < problems.size(); ++peer) {
      problems[rank].counts[peer] = problem.counts[(rank + 3 * peer) % problems.size()];
      problems[rank].receive_counts[peer] = problem.counts[(peer + 3 * rank) % problems.size()];
    }
  }
  return problems;
}

std::vector<Schedule> build_all(const Algorithm& algorithm, const std::vector<Problem>& problems) {
  std::vector<Schedule> schedules;
  for (const Problem& problem : problems) schedules.push_back(algorithm.build(problem));
  return schedules;
}

Status check_all(const Algorithm& algorithm, const Problem& problem, std::size_t window) {
  const std::vector<Problem> problems = everybody(problem);
  const std::vector<Schedule> schedules = build_all(algorithm, problems);
  CheckOptions options;
  options.window = window;
  return check(problems, schedules, options);
}

const Algorithm& algorithm(Operation operation, std::string_view wanted) {
  for (const Algorithm& one : algorithms())
    if (one.operation == operation && one.name == wanted) return one;
  ADD_FAILURE() << "no algorithm " << wanted;
  return algorithms()[0];
}

std::string text(const Problem& problem) {
  std::string counts;
  for (std::size_t i = 0; i < problem.counts.size() && i < 8; ++i) counts += " " + std::to_string(problem.counts[i]);
  return "ranks " + std::to_string(problem.ranks) + " root " + std::to_string(problem.root) + " counts" + counts +
         (problem.in_place ? " in place" : "") + " element " + std::to_string(problem.element_bytes) + " partial " +
         std::to_string(problem.partial_bytes) + " chunk " + std::to_string(problem.chunk_bytes) +
         (problem.host_of.empty() ? "" : " on hosts");
}

}  // namespace railweave::collectives

#include "collectives/schedule/proof/outcome.h"

#include <algorithm>
#include <numeric>

namespace railweave::collectives::proof {
namespace {

std::size_t sum(const std::vector<std::size_t>& counts, std::size_t of_first) {
  return std::accumulate(counts.begin(), counts.begin() + std::ptrdiff_t(of_first), std::size_t{0});
}

}  // namespace

std::string Outcome::add(std::size_t rank, std::span<const Run> output) {
  return reduces(problems_[rank].operation) ? check_reduced(rank, output) : compare(output, moved(rank));
}

std::vector<Run> Outcome::moved(std::size_t rank) const {
  const Problem& problem = problems_[rank];
  const bool root = problem.rank == problem.root;
  std::vector<Run> expected;
  switch (problem.operation) {
    case Operation::gather:
      if (!root) return {};
      [[fallthrough]];
    case Operation::all_gather:
      for (std::size_t r = 0; r < problems_.size(); ++r)
        expected.push_back({problem.counts[r], symbols_.raw(int(r)), 0});
      return expected;
    case Operation::broadcast: return {{problem.counts[0], symbols_.raw(problem.root), 0}};
    case Operation::scatter: return {{problem.counts[rank], symbols_.raw(problem.root), sum(problem.counts, rank)}};
    case Operation::all_to_all:
      for (std::size_t r = 0; r < problems_.size(); ++r)
        expected.push_back({problem.receive_counts[r], symbols_.raw(int(r)), sum(problems_[r].counts, rank)});
      return expected;
    default: return {};
  }
}

std::string Outcome::compare(std::span<const Run> output, std::span<const Run> expected) const {
  std::size_t have = 0, want = 0, have_at = 0, want_at = 0, element = 0;
  while (have < output.size() && want < expected.size()) {
    const Run& a = output[have];
    const Run& b = expected[want];
    const std::size_t count = std::min(a.count - have_at, b.count - want_at);
    if (count > 0 && (a.symbol != b.symbol || a.first + have_at != b.first + want_at))
      return "output element " + std::to_string(element) + " is " + symbols_.text(a.symbol) + " element " +
             std::to_string(a.first + have_at) + ", not " + symbols_.text(b.symbol) + " element " +
             std::to_string(b.first + want_at);
    element += count;
    if ((have_at += count) == a.count) ++have, have_at = 0;
    if ((want_at += count) == b.count) ++want, want_at = 0;
  }
  return {};
}

std::string Outcome::check_reduced(std::size_t rank, std::span<const Run> output) {
  const Problem& problem = problems_[rank];
  std::size_t element = problem.operation == Operation::reduce_scatter ? sum(problem.counts, rank) : 0;
  for (const Run& run : output) {
    if (run.first != element)
      return "output has element " + std::to_string(run.first) + " in place of " + std::to_string(element);
    if (symbols_.form(run.symbol) != Form::result || !symbols_.complete(run.symbol))
      return "element " + std::to_string(element) + " is " + symbols_.text(run.symbol) +
             ", not everybody's input, finished";
    element += run.count;
  }
  if (problem.operation != Operation::all_reduce) return {};
  if (rank == 0) first_.assign(output.begin(), output.end());
  const std::string difference = compare(output, first_);
  return difference.empty() ? "" : "unlike rank 0: " + difference;
}

}  // namespace railweave::collectives::proof

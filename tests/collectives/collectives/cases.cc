#include "cases.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "collectives/schedule/algorithm_choice.h"

namespace railweave::collectives_test {

using collectives::DataType;
using collectives::Operation;
using collectives::Reduction;

namespace {

std::size_t sum(const std::vector<std::size_t>& counts, std::size_t first_ones) {
  return std::accumulate(counts.begin(), counts.begin() + std::ptrdiff_t(first_ones), std::size_t(0));
}

std::size_t sum(const std::vector<std::size_t>& counts) { return sum(counts, counts.size()); }

Bytes given(const Case& c, int rank) {
  const std::vector<std::size_t> counts = c.counts(rank);
  const auto r = std::size_t(rank);
  Bytes bytes;
  if (c.reduces()) append_contribution(bytes, c.reduction, c.ranks, rank, sum(counts), c.type);
  switch (c.operation) {
    case Operation::all_gather:
    case Operation::gather: append_row(bytes, rank, 0, counts[r], c.type); break;
    case Operation::broadcast:
    case Operation::scatter:
      if (rank == c.root) append_row(bytes, rank, 0, sum(counts), c.type);
      break;
    case Operation::all_to_all: append_row(bytes, rank, 0, sum(counts), c.type); break;
    default: break;
  }
  return bytes;
}

Bytes expected(const Case& c, int rank) {
  const std::vector<std::size_t> counts = c.counts(rank);
  const auto r = std::size_t(rank);
  const bool root = rank == c.root;
  Bytes bytes;
  switch (c.operation) {
    case Operation::all_gather:
    case Operation::gather:
      if (!root && c.operation == Operation::gather) break;
      for (int from = 0; from < c.ranks; ++from) append_row(bytes, from, 0, counts[std::size_t(from)], c.type);
      break;
    case Operation::all_to_all:
      for (int from = 0; from < c.ranks; ++from)
        append_row(bytes, from, sum(c.counts(from), r), c.part(from, rank), c.type);
      break;
    case Operation::broadcast: append_row(bytes, c.root, 0, c.count, c.type); break;
    case Operation::scatter: append_row(bytes, c.root, sum(counts, r), counts[r], c.type); break;
    case Operation::all_reduce: append_reduced(bytes, c.reduction, c.ranks, 0, c.count, c.type); break;
    case Operation::reduce:
      if (root) append_reduced(bytes, c.reduction, c.ranks, 0, c.count, c.type);
      break;
    case Operation::reduce_scatter:
      append_reduced(bytes, c.reduction, c.ranks, sum(counts, r), counts[r], c.type);
      break;
    case Operation::barrier: break;
  }
  return bytes;
}

}  // namespace

bool Case::reduces() const { return collectives::reduces(operation); }

bool Case::has_parts() const {
  return operation == Operation::all_gather || operation == Operation::reduce_scatter ||
         operation == Operation::gather || operation == Operation::scatter || operation == Operation::all_to_all;
}

std::size_t Case::part(int from, int to) const {
  if (!uneven) return count;
  const bool by_sender = operation == Operation::all_gather || operation == Operation::gather;
  const int k = operation == Operation::all_to_all ? from + 2 * to : by_sender ? from : to;
  return k % 3 == 1 ? 0 : count + std::size_t(k) * 5;
}

std::vector<std::size_t> Case::counts(int rank) const {
  if (operation == Operation::barrier) return {};
  if (!has_parts()) return {count};
  std::vector<std::size_t> result;
  const bool by_sender = operation == Operation::all_gather || operation == Operation::gather;
  for (int other = 0; other < ranks; ++other) result.push_back(by_sender ? part(other, rank) : part(rank, other));
  return result;
}

std::vector<std::size_t> Case::receive_counts(int rank) const {
  std::vector<std::size_t> result;
  for (int from = 0; from < ranks && operation == Operation::all_to_all; ++from) result.push_back(part(from, rank));
  return result;
}

std::string Case::text() const {
  return std::string(collectives::name(operation)) + " of " + std::to_string(count) + " " + std::string(name(type)) +
         (reduces() ? " " + std::string(name(reduction)) : "") + (uneven ? ", uneven" : "") +
         (in_place ? ", in place" : "") + ", root " + std::to_string(root) + " of " + std::to_string(ranks);
}

CaseMemory::CaseMemory(const Case& one, int rank) : case_(one), rank_(rank) {
  const Bytes in = given(one, rank), out = expected(one, rank);
  input_bytes_ = in.size();
  output_bytes_ = out.size();
  const bool rooted =
      one.operation == Operation::gather || one.operation == Operation::scatter || one.operation == Operation::reduce;
  const bool shared = one.in_place && one.operation != Operation::all_to_all && (!rooted || rank == one.root);
  if (!shared) {
    output_at_ = (in.size() / 64 + 1) * 64;
  } else if (one.has_parts()) {
    const std::size_t own_at = sum(one.counts(rank), std::size_t(rank)) * size_bytes(one.type);
    (in.size() < out.size() ? input_at_ : output_at_) = in.size() == out.size() ? 0 : own_at;
  }
  block_.assign(std::max(input_at_ + in.size(), output_at_ + out.size()) + 1, std::byte(0x5a));
  std::ranges::copy(in, block_.begin() + std::ptrdiff_t(input_at_));
  expected_ = block_;
  std::ranges::copy(out, expected_.begin() + std::ptrdiff_t(output_at_));
}

std::string CaseMemory::wrong() const {
  if (block_ == expected_) return "";
  const auto at = std::size_t(std::ranges::mismatch(block_, expected_).in1 - block_.begin());
  return case_.text() + ": rank " + std::to_string(rank_) + " has a wrong byte at " + std::to_string(at) +
         " (output from " + std::to_string(output_at_) + " to " + std::to_string(output_at_ + output_bytes_) + ")";
}

std::vector<Case> every_type(Operation operation, int ranks) {
  std::vector<Case> cases;
  Case one;
  one.operation = operation;
  one.ranks = ranks;
  for (int t = 0; t < collectives::kDataTypes; ++t) {
    one.type = DataType(t);
    if (!one.reduces()) cases.push_back(one);
    for (int o = 0; o < collectives::kReductions && one.reduces(); ++o) {
      one.reduction = Reduction(o);
      if (supports(one.type, one.reduction)) cases.push_back(one);
    }
  }
  return cases;
}

}  // namespace railweave::collectives_test

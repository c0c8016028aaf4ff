#include "collectives/shared_memory/contribution.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "collectives/group/fingerprint.h"
#include "collectives/kernels/streaming_copy.h"
#include "collectives/schedule/memory.h"

namespace railweave::collectives {
namespace {

std::size_t sum_of(const std::vector<std::size_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
}

bool is_leaf(const Problem& p, int rank) { return has_root(p.operation) && rank != p.root; }

void copy(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0 && to != from) std::memcpy(to, from, bytes);
}

// Reduces `count` elements at `offset_bytes` of every rank's contribution.
void reduce_all(const Reducing& how, std::span<const std::byte* const> posted, std::size_t offset_bytes, void* to,
                std::size_t count) {
  if (count == 0) return;
  constexpr std::size_t kFew = 16;
  Operand few[kFew];
  std::vector<Operand> many;
  if (posted.size() > kFew) many.resize(posted.size());
  const std::span<Operand> operands(many.empty() ? few : many.data(), posted.size());
  for (std::size_t r = 0; r < posted.size(); ++r) operands[r] = {posted[r] + offset_bytes, false};
  reduce(how, operands, to, true, count);
}

std::size_t elements(std::size_t count, const Part& part) {
  return std::min(count - std::min(count, part.begin), part.most);
}

}  // namespace

std::size_t due_bytes(const Problem& p, int from, const Part& part) {
  switch (p.operation) {
    case Operation::all_gather:
    case Operation::gather: return elements(p.counts[std::size_t(from)], part) * p.element_bytes;
    case Operation::all_reduce:
    case Operation::reduce: return elements(p.counts[0], part) * p.element_bytes;
    case Operation::reduce_scatter:
    case Operation::all_to_all: return sum_of(p.counts) * p.element_bytes;
    case Operation::broadcast: return from == p.root ? p.counts[0] * p.element_bytes : 0;
    case Operation::scatter: return from == p.root ? sum_of(p.counts) * p.element_bytes : 0;
    case Operation::barrier: break;
  }
  return 0;
}

bool needs(const Problem& p, int from) {
  if (p.operation == Operation::broadcast || p.operation == Operation::scatter) return from == p.root;
  return !is_leaf(p, p.rank);  // leaves of a reduce or gather need none
}

bool fits_exchange(const Call& call) {
  const Problem& p = call.problem;
  if (p.operation == Operation::all_to_all && !p.uniform) return false;
  if (p.operation != Operation::all_gather && p.operation != Operation::gather) {  // all post alike, or only the root
    const std::size_t posters =
        p.operation == Operation::broadcast || p.operation == Operation::scatter ? 1 : std::size_t(p.ranks);
    return due_bytes(p, p.root) <= std::min(kPostedMax, kPostedByAllMax / posters);
  }
  const std::size_t longest = p.counts.empty() ? 0 : *std::ranges::max_element(p.counts);
  return longest * p.element_bytes <= kPostedMax && sum_of(p.counts) * p.element_bytes <= kPostedByAllMax;
}

std::uint32_t counts_hash(const Problem& p) {
  // A piece shows less than the whole call.
  const bool several = p.operation == Operation::all_reduce && due_bytes(p, p.rank) > kPostedMax;
  if (p.operation != Operation::all_gather && p.operation != Operation::reduce_scatter && !several) return 0;
  const std::uint64_t hash = hash_of(p.counts);
  return std::uint32_t((hash ^ hash >> 32) & 0x7fffffff);
}

std::span<const std::byte> to_post(const Call& call, const Part& part) {
  const std::size_t bytes = due_bytes(call.problem, call.problem.rank, part);
  return {static_cast<const std::byte*>(call.input) + (bytes > 0 ? part.begin * call.problem.element_bytes : 0), bytes};
}

std::byte* place_of(const Call& call, const Part& part, int from) {
  const Problem& p = call.problem;
  if (p.operation != Operation::all_gather && p.operation != Operation::gather) return nullptr;
  const std::size_t before = std::accumulate(p.counts.begin(), p.counts.begin() + from, part.begin);
  return static_cast<std::byte*>(call.output) + before * p.element_bytes;
}

void complete(const Call& call, const Part& part, std::span<const std::byte* const> posted) {
  const Problem& p = call.problem;
  auto* const output = static_cast<std::byte*>(call.output);
  const auto own = std::size_t(p.rank), root = std::size_t(p.root);
  switch (p.operation) {
    case Operation::gather:
      if (is_leaf(p, p.rank)) return;
      [[fallthrough]];
    case Operation::all_gather:
      for (std::size_t r = 0; r < posted.size(); ++r) {
        if (posted[r] == nullptr || (r == own && p.in_place)) continue;
        (part.streams ? streaming_copy : copy)(place_of(call, part, int(r)), posted[r], due_bytes(p, int(r), part));
      }
      return;
    case Operation::reduce:
      if (is_leaf(p, p.rank)) return;
      [[fallthrough]];
    case Operation::all_reduce:
      return reduce_all(call.how, posted, 0, output + part.begin * p.element_bytes, elements(p.counts[0], part));
    case Operation::reduce_scatter: return reduce_all(call.how, posted, own_offset_bytes(p), output, p.counts[own]);
    case Operation::broadcast:
      if (!p.in_place) copy(output, posted[root], p.counts[0] * p.element_bytes);
      return;
    case Operation::scatter:
      if (!p.in_place) copy(output, posted[root] + own_offset_bytes(p), p.counts[own] * p.element_bytes);
      return;
    case Operation::all_to_all: {
      const std::size_t bytes = p.counts[own] * p.element_bytes;
      for (std::size_t r = 0; r < posted.size(); ++r) copy(output + r * bytes, posted[r] + own * bytes, bytes);
      return;
    }
    case Operation::barrier: return;
  }
}

}  // namespace railweave::collectives

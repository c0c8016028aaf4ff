#include "collectives/group/call.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/error.h"
#include "collectives/schedule/algorithm_choice.h"
#include "collectives/schedule/memory.h"

namespace railweave::collectives {
namespace {

constexpr std::size_t kShortChunksBytesMax = 2 * MiB;

Status refused(const Call& call, const std::string& why) {
  return Status(Code::invalid_argument, Scope::request, fmt::format("{}: {}", name(call.problem.operation), why));
}

// True if input and output are in place, as schedule/problem.h defines in place for each operation.
bool is_in_place(const Call& call) {
  const auto* input = static_cast<const std::byte*>(call.input);
  const auto* output = static_cast<const std::byte*>(call.output);
  const Problem& p = call.problem;
  switch (p.operation) {
    case Operation::all_reduce: return input == output;
    case Operation::broadcast:
    case Operation::reduce: return p.rank == p.root && input == output;
    case Operation::all_gather: return input == output + own_offset_bytes(p);
    case Operation::gather: return p.rank == p.root && input == output + own_offset_bytes(p);
    case Operation::reduce_scatter: return output == input + own_offset_bytes(p);
    case Operation::scatter: return p.rank == p.root && output == input + own_offset_bytes(p);
    default: return false;
  }
}

}  // namespace

std::size_t Call::input_bytes() const { return elements(problem, Place::input) * problem.element_bytes; }

std::size_t Call::output_bytes() const { return elements(problem, Place::output) * problem.element_bytes; }

std::size_t Call::agreed_bytes() const {
  return problem.element_bytes * std::accumulate(problem.counts.begin(), problem.counts.end(), std::size_t{0});
}

bool Call::wants_short_chunks() const {
  return hints.priority == Priority::urgent && problem.operation != Operation::all_to_all &&
         agreed_bytes() <= kShortChunksBytesMax;
}

std::size_t Call::most_bytes() const { return std::max(input_bytes(), output_bytes()); }

Status check(Call& call) {
  Problem& p = call.problem;
  if (p.root < 0 || p.root >= p.ranks)
    return refused(call, fmt::format("root {}, expected 0 to {}", p.root, p.ranks - 1));
  const std::size_t counts = p.operation == Operation::all_gather || p.operation == Operation::reduce_scatter ||
                                     p.operation == Operation::gather || p.operation == Operation::scatter ||
                                     p.operation == Operation::all_to_all
                                 ? std::size_t(p.ranks)
                             : p.operation == Operation::barrier ? 0
                                                                 : 1;
  if (p.counts.size() != counts) return refused(call, fmt::format("{} counts for {} ranks", p.counts.size(), p.ranks));
  if (p.operation == Operation::all_to_all && p.receive_counts.size() != counts)
    return refused(call, fmt::format("{} receive counts for {} ranks", p.receive_counts.size(), p.ranks));
  if (const auto own = std::size_t(p.rank);
      p.operation == Operation::all_to_all && p.counts[own] != p.receive_counts[own])
    return refused(call, fmt::format("rank {} sends {} elements to itself and receives {}", p.rank, p.counts[own],
                                     p.receive_counts[own]));
  for (const auto* each : {&p.counts, &p.receive_counts}) {
    std::size_t bytes = 0, all = 0;
    for (const std::size_t count : *each)
      if (__builtin_mul_overflow(count, p.element_bytes, &bytes) || __builtin_add_overflow(all, bytes, &all))
        return refused(call, fmt::format("{} elements of {} bytes exceed the address space", count, p.element_bytes));
  }
  if (reduces(p.operation) && !supports(call.how.type, call.how.reduction))
    return refused(call, fmt::format("{} of {} is not supported", name(call.how.reduction), name(call.how.type)));
  const std::size_t in = call.input_bytes(), out = call.output_bytes();
  if (in > 0 && call.input == nullptr) return refused(call, fmt::format("no input where {} bytes are due", in));
  if (out > 0 && call.output == nullptr) return refused(call, fmt::format("no output where {} bytes are due", out));
  p.in_place = in > 0 && out > 0 && is_in_place(call);
  const auto* input = static_cast<const std::byte*>(call.input);
  const auto* output = static_cast<const std::byte*>(call.output);
  const std::less<const std::byte*> before;
  const bool apart = in == 0 || out == 0 || !before(input, output + out) || !before(output, input + in);
  if (!apart && !p.in_place)
    return refused(call, fmt::format("input {} of {} bytes overlaps output {} of {} bytes, and the operation is not "
                                     "in place",
                                     call.input, in, call.output, out));
  return {};
}

}  // namespace railweave::collectives

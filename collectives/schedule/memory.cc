#include "collectives/schedule/memory.h"

#include <numeric>

namespace railweave::collectives {
namespace {

// Translates an extent of the output to the input, or of the input to the output, if this rank has both.
Extent merged(const Problem& problem, Extent extent) {
  const bool root = problem.rank == problem.root;
  Place common = Place::output;
  bool part = false;  // the other place is this rank's part of `common`
  switch (problem.operation) {
    case Operation::all_gather: part = true; break;
    case Operation::gather:
      part = true;
      if (!root) return extent;
      break;
    case Operation::reduce_scatter:
      common = Place::input;
      part = true;
      break;
    case Operation::scatter:
      common = Place::input;
      part = true;
      if (!root) return extent;
      break;
    case Operation::all_reduce: break;
    case Operation::broadcast:
    case Operation::reduce:
      if (!root) return extent;
      break;
    case Operation::all_to_all:
    case Operation::barrier: return extent;
  }
  if (extent.place == common) return extent;
  const std::size_t shift = part ? own_offset_bytes(problem) : 0;
  return {common, extent.begin + shift, extent.end + shift};
}

std::size_t sum(const std::vector<std::size_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
}

}  // namespace

std::size_t own_offset_bytes(const Problem& problem) {
  return problem.element_bytes *
         std::accumulate(problem.counts.begin(), problem.counts.begin() + problem.rank, std::size_t{0});
}

std::size_t elements(const Problem& problem, Place place) {
  const bool root = problem.rank == problem.root, input = place == Place::input;
  const auto own = [&problem] { return problem.counts[std::size_t(problem.rank)]; };
  switch (problem.operation) {
    case Operation::all_gather: return input ? own() : sum(problem.counts);
    case Operation::gather: return input ? own() : root ? sum(problem.counts) : 0;
    case Operation::reduce_scatter: return input ? sum(problem.counts) : own();
    case Operation::scatter: return !input ? own() : root ? sum(problem.counts) : 0;
    case Operation::all_reduce: return problem.counts[0];
    case Operation::broadcast: return !input || root ? problem.counts[0] : 0;
    case Operation::reduce: return input || root ? problem.counts[0] : 0;
    case Operation::all_to_all: return sum(input ? problem.counts : problem.receive_counts);
    case Operation::barrier: return 0;
  }
  return 0;
}

std::size_t form_bytes(const Problem& problem, Form form) {
  return form == Form::partial ? problem.partial_bytes : problem.element_bytes;
}

Extent extent(const Problem& problem, const Piece& piece) {
  const Extent plain{piece.place, piece.offset_bytes,
                     piece.offset_bytes + piece.count * form_bytes(problem, piece.form)};
  return problem.in_place && piece.place != Place::scratch ? merged(problem, plain) : plain;
}

}  // namespace railweave::collectives

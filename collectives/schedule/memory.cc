#include "collectives/schedule/memory.h"

#include <numeric>

namespace railweave::collectives {
namespace {

std::size_t own_offset_bytes(const Problem& problem) {
  return problem.element_bytes *
         std::accumulate(problem.counts.begin(), problem.counts.begin() + problem.rank, std::size_t{0});
}

// Output as a part of the input, or input as a part of the output, where this rank has both.
Extent merged(const Problem& problem, Extent extent) {
  const bool root = problem.rank == problem.root;
  Place common = Place::output;
  bool part = false;  // the other one is this rank's part of it
  switch (problem.operation) {
    case Operation::all_gather: part = true; break;
    case Operation::gather: part = true; if (!root) return extent; break;
    case Operation::reduce_scatter: common = Place::input; part = true; break;
    case Operation::scatter: common = Place::input; part = true; if (!root) return extent; break;
    case Operation::all_reduce: break;
    case Operation::broadcast:
    case Operation::reduce: if (!root) return extent; break;
    case Operation::all_to_all:
    case Operation::barrier: return extent;
  }
  if (extent.place == common) return extent;
  const std::size_t shift = part ? own_offset_bytes(problem) : 0;
  return {common, extent.begin + shift, extent.end + shift};
}

}  // namespace

std::size_t form_bytes(const Problem& problem, Form form) {
  return form == Form::partial ? problem.partial_bytes : problem.element_bytes;
}

Extent extent(const Problem& problem, const Piece& piece) {
  const Extent plain{piece.place, piece.offset_bytes, piece.offset_bytes + piece.count * form_bytes(problem, piece.form)};
  return problem.in_place && piece.place != Place::scratch ? merged(problem, plain) : plain;
}

}  // namespace railweave::collectives

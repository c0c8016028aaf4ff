// Where a piece lies. In place, input and output are one memory: pieces of both are then told by one of the two.
#pragma once

#include <cstddef>

#include "collectives/schedule/problem.h"
#include "collectives/schedule/schedule.h"

namespace railweave::collectives {

// Bytes [begin, end) of the input, the output or the scratch memory.
struct Extent {
  Place place = Place::input;
  std::size_t begin = 0;
  std::size_t end = 0;
};

// Where the part of rank problem.rank lies in memory that holds every rank's.
std::size_t own_offset_bytes(const Problem& problem);
// Bytes of one element in that form.
std::size_t form_bytes(const Problem& problem, Form form);
// How many elements the input or the output of rank problem.rank has.
std::size_t elements(const Problem& problem, Place place);
// As the rank problem.rank sees it; pieces that share bytes have extents of one place that overlap.
Extent extent(const Problem& problem, const Piece& piece);

}  // namespace railweave::collectives

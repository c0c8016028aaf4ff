// Translates pieces of a schedule to byte ranges. In place, input and output are one memory: pieces of both get extents
// of one of the two places.
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

// Offset of rank problem.rank's part in memory that has all ranks' parts.
std::size_t own_offset_bytes(const Problem& problem);
// Bytes of one element in this form.
std::size_t form_bytes(const Problem& problem, Form form);
// Elements in the input or the output of rank problem.rank.
std::size_t elements(const Problem& problem, Place place);
// Returns the piece's extent at rank problem.rank. Pieces that share bytes have overlapping extents of one place.
Extent extent(const Problem& problem, const Piece& piece);

}  // namespace railweave::collectives

// What one rank does in one operation, as plain data (docs/internals/collectives.md has the rules). Built by
// algorithms, proved by checker.h, run by execution.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace railweave::collectives {

enum class Place : std::uint8_t { input, output, scratch };

// Elements as a caller gave them; reduced so far (of partial_size_bytes() each); finished.
enum class Form : std::uint8_t { raw, partial, result };

struct Piece {
  Place place = Place::input;
  Form form = Form::raw;
  std::size_t offset_bytes = 0;
  std::size_t count = 0;  // elements; their size follows from the form. 0: nothing is touched
};

struct Step {
  enum class Kind : std::uint8_t { send, receive, copy, reduce };
  Kind kind = Kind::copy;
  int peer = -1;  // send, receive: rank in the group
  Piece from;     // send, copy
  Piece to;       // receive, copy, reduce. May be one of a reduction's operands, exactly
  std::uint32_t operands_begin = 0, operands_end = 0;  // reduce: of Schedule::operands, in the order they are reduced
  std::uint32_t after_begin = 0, after_end = 0;        // of Schedule::after: steps that must be done first
};

struct Schedule {
  std::vector<Step> steps;
  std::vector<Piece> operands;
  std::vector<std::uint32_t> after;  // indices of earlier steps
  std::size_t scratch_bytes = 0;     // memory the execution provides, aligned to 128
};

}  // namespace railweave::collectives

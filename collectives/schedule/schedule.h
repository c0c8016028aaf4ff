// One rank's part in one operation, as plain data (rules: docs/internals/collectives.md). Algorithms build schedules,
// checker.h proves them, execution.h runs them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace railweave::collectives {

enum class Place : std::uint8_t { input, output, scratch };

// raw: as the caller gave them. partial: reduced so far, partial_size_bytes() each. result: finished.
enum class Form : std::uint8_t { raw, partial, result };

struct Piece {
  Place place = Place::input;
  Form form = Form::raw;
  std::size_t offset_bytes = 0;
  std::size_t count = 0;  // elements; their size depends on the form. 0: no memory is accessed
};

struct Step {
  enum class Kind : std::uint8_t { send, receive, copy, reduce };
  Kind kind = Kind::copy;
  int peer = -1;  // send, receive: rank in the group
  Piece from;     // send, copy
  Piece to;       // receive, copy, reduce. May equal one operand of the reduction exactly
  std::uint32_t operands_begin = 0, operands_end = 0;  // reduce: range of Schedule::operands, in order of reduction
  std::uint32_t after_begin = 0, after_end = 0;        // range of Schedule::after: steps that must be done first
};

struct Schedule {
  std::vector<Step> steps;
  std::vector<Piece> operands;
  std::vector<std::uint32_t> after;  // indices of earlier steps
  std::size_t scratch_bytes = 0;     // provided by the execution, aligned to 128 bytes
};

}  // namespace railweave::collectives

// Writes a schedule step by step. The caller states steps in an order that would be right if each step ended before the
// next one began. The builder derives each step's dependencies from the memory that it accesses. Sends to one peer are
// posted in the order in which they are stated, and so are receives from one peer.
// Lifetime: the Problem outlives the Builder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "collectives/schedule/accesses.h"
#include "collectives/schedule/cut.h"
#include "collectives/schedule/problem.h"
#include "collectives/schedule/schedule.h"

namespace railweave::collectives {

class Builder {
 public:
  using StepId = std::uint32_t;

  explicit Builder(const Problem& problem) : problem_(problem) {}

  Piece input(Range range) const {
    return {Place::input, Form::raw, range.first * problem_.element_bytes, range.count};
  }
  Piece output(Range range, Form form = Form::raw) const {
    return {Place::output, form, range.first * problem_.element_bytes, range.count};
  }
  // Reserves scratch memory at a multiple of 128 bytes and returns its offset.
  std::size_t scratch(std::size_t bytes);

  // `after`: steps to wait for besides those that the memory implies. Pieces without elements are sent, too.
  StepId send(int to, const Piece& from, std::span<const StepId> after = {});
  StepId receive(int from, const Piece& to, std::span<const StepId> after = {});
  // Adds no step if the piece is empty or both pieces are the same memory.
  void copy(const Piece& from, const Piece& to);
  // Adds no step if the result is empty.
  void reduce(std::span<const Piece> operands, const Piece& to);
  // Copies a run of elements, chunk by chunk.
  void copy_chunks(Range from_input, Range to_output);

  const Problem& problem() const { return problem_; }
  Schedule take() { return std::move(schedule_); }

 private:
  StepId append(Step step, std::span<const StepId> after);

  const Problem& problem_;
  Schedule schedule_;
  Accesses accesses_;
  std::vector<StepId> waits_;  // of the step that is being appended
};

// Scratch memory for chunks that take turns in a few slots. A step that reuses a slot waits for the last user of the
// slot.
class Slots {
 public:
  // Makes room for `chunks` chunks of at most `slot_bytes`, at most `slots` of them at a time.
  Slots(Builder& builder, std::size_t chunks, std::size_t slots, std::size_t slot_bytes);
  Piece piece(std::size_t chunk, Form form, std::size_t count) const;

 private:
  std::size_t slots_, slot_bytes_, offset_bytes_;
};

}  // namespace railweave::collectives

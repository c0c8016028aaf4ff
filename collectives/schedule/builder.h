// Writes a schedule step by step. Steps are told in an order in which they would be right if each ran to its end before
// the next; what each must wait for follows from the memory it touches. The order of sends to a peer, and of receives
// from it, is the order they are posted in.
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
  // Fresh scratch memory at a multiple of 128; returns its offset.
  std::size_t scratch(std::size_t bytes);

  // `after`: steps to wait for besides what the memory says. Pieces without elements are sent, too: the caller decides.
  StepId send(int to, const Piece& from, std::span<const StepId> after = {});
  StepId receive(int from, const Piece& to, std::span<const StepId> after = {});
  // Nothing where there are no elements or the two are the same memory.
  void copy(const Piece& from, const Piece& to);
  // Nothing where there are no elements.
  void reduce(std::span<const Piece> operands, const Piece& to);
  // A whole run, in chunks.
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

// Scratch for chunks that take turns in a few slots: whoever takes a slot again waits until its last user is through.
class Slots {
 public:
  // For `chunks` chunks of at most `slot_bytes`, at most `slots` of them at a time.
  Slots(Builder& builder, std::size_t chunks, std::size_t slots, std::size_t slot_bytes);
  Piece piece(std::size_t chunk, Form form, std::size_t count) const;

 private:
  std::size_t slots_, slot_bytes_, offset_bytes_;
};

}  // namespace railweave::collectives

#include "collectives/schedule/builder.h"

#include <algorithm>
#include <cassert>

#include "collectives/schedule/memory.h"

namespace railweave::collectives {
namespace {

constexpr std::size_t kLineBytes = 128;

std::size_t whole_lines(std::size_t bytes) { return (bytes + kLineBytes - 1) / kLineBytes * kLineBytes; }

}  // namespace

std::size_t Builder::scratch(std::size_t bytes) {
  const std::size_t offset = schedule_.scratch_bytes;
  schedule_.scratch_bytes += whole_lines(bytes);
  return offset;
}

Builder::StepId Builder::append(Step step, std::span<const StepId> after) {
  const auto id = StepId(schedule_.steps.size());
  waits_.assign(after.begin(), after.end());
  const bool reads_from = step.kind == Step::Kind::send || step.kind == Step::Kind::copy;
  if (reads_from) accesses_.read(extent(problem_, step.from), id, waits_);
  for (std::uint32_t i = step.operands_begin; i < step.operands_end; ++i)
    accesses_.read(extent(problem_, schedule_.operands[i]), id, waits_);
  if (step.kind != Step::Kind::send) accesses_.write(extent(problem_, step.to), id, waits_);

  std::sort(waits_.begin(), waits_.end());
  waits_.erase(std::unique(waits_.begin(), waits_.end()), waits_.end());
  step.after_begin = std::uint32_t(schedule_.after.size());
  schedule_.after.insert(schedule_.after.end(), waits_.begin(), waits_.end());
  step.after_end = std::uint32_t(schedule_.after.size());
  schedule_.steps.push_back(step);
  return id;
}

Builder::StepId Builder::send(int to, const Piece& from, std::span<const StepId> after) {
  Step step;
  step.kind = Step::Kind::send;
  step.peer = to;
  step.from = from;
  return append(step, after);
}

Builder::StepId Builder::receive(int from, const Piece& to, std::span<const StepId> after) {
  Step step;
  step.kind = Step::Kind::receive;
  step.peer = from;
  step.to = to;
  return append(step, after);
}

void Builder::copy(const Piece& from, const Piece& to) {
  const Extent source = extent(problem_, from), target = extent(problem_, to);
  if (from.count == 0 || (source.place == target.place && source.begin == target.begin)) return;
  Step step;
  step.from = from;
  step.to = to;
  append(step, {});
}

void Builder::reduce(std::span<const Piece> operands, const Piece& to) {
  if (to.count == 0) return;
  Step step;
  step.kind = Step::Kind::reduce;
  step.to = to;
  step.operands_begin = std::uint32_t(schedule_.operands.size());
  schedule_.operands.insert(schedule_.operands.end(), operands.begin(), operands.end());
  step.operands_end = std::uint32_t(schedule_.operands.size());
  append(step, {});
}

void Builder::copy_chunks(Range from_input, Range to_output) {
  assert(from_input.count == to_output.count);
  const Chunks chunks(problem_, to_output);
  for (std::size_t k = 0; k < chunks.size(); ++k) {
    const Range to = chunks[k];
    copy(input({to.first - to_output.first + from_input.first, to.count}), output(to));
  }
}

Slots::Slots(Builder& builder, std::size_t chunks, std::size_t slots, std::size_t slot_bytes)
    : slots_(std::max<std::size_t>(1, std::min(chunks, slots))),
      slot_bytes_(whole_lines(slot_bytes)),
      offset_bytes_(builder.scratch(chunks == 0 ? 0 : slots_ * slot_bytes_)) {}

Piece Slots::piece(std::size_t chunk, Form form, std::size_t count) const {
  return {Place::scratch, form, offset_bytes_ + chunk % slots_ * slot_bytes_, count};
}

}  // namespace railweave::collectives

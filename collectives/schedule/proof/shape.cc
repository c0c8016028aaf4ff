#include "collectives/schedule/proof/shape.h"

#include <span>

#include "collectives/schedule/memory.h"

namespace railweave::collectives::proof {
namespace {

// Fault of a step; empty: no fault.
using Complaint = std::string;

bool is_message(const Step& step) { return step.kind == Step::Kind::send || step.kind == Step::Kind::receive; }

Complaint of_piece(const Problem& problem, const Schedule& schedule, const Piece& piece) {
  const std::size_t bytes = piece.count * form_bytes(problem, piece.form);
  const std::size_t room =
      piece.place == Place::scratch ? schedule.scratch_bytes : elements(problem, piece.place) * problem.element_bytes;
  if (piece.count > 0 && (piece.offset_bytes > room || bytes > room - piece.offset_bytes))
    return "bytes " + std::to_string(piece.offset_bytes) + " to " + std::to_string(piece.offset_bytes + bytes) +
           " of " + std::to_string(room);
  if (piece.place != Place::scratch && piece.form == Form::partial) return "partial sums outside of scratch memory";
  if (piece.place == Place::input && piece.form != Form::raw) return "input that is not raw";
  return {};
}

bool overlap(const Extent& a, const Extent& b) { return a.place == b.place && a.begin < b.end && b.begin < a.end; }

Complaint of_reduce(const Problem& problem, std::span<const Piece> operands, const Step& step) {
  if (operands.empty()) return "no operands";
  if (step.to.form == Form::raw) return "to raw elements";
  const Extent to = extent(problem, step.to);
  for (const Piece& operand : operands) {
    if (operand.count != step.to.count) return "an operand of another number of elements";
    if (operand.form == Form::result) return "a finished result is an operand";
    const Extent from = extent(problem, operand);
    if (!overlap(to, from)) continue;
    if (to.begin != from.begin || to.end != from.end) return "to overlaps an operand and is not the same";
  }
  return {};
}

Complaint of_copy(const Problem& problem, const Step& step) {
  if (step.from.count != step.to.count) return "to another number of elements";
  if ((step.from.form == Form::partial) != (step.to.form == Form::partial)) return "to another form";
  if (overlap(extent(problem, step.from), extent(problem, step.to))) return "to overlaps from";
  return {};
}

Complaint of_lists(const Schedule& schedule, std::size_t id) {
  const Step& step = schedule.steps[id];
  if (step.after_begin > step.after_end || step.after_end > schedule.after.size())
    return "dependencies beyond the list";
  for (std::uint32_t i = step.after_begin; i < step.after_end; ++i)
    if (schedule.after[i] >= id)
      return "waits for step " + std::to_string(schedule.after[i]) + ", which is not earlier";
  if (step.operands_begin > step.operands_end || step.operands_end > schedule.operands.size())
    return "operands beyond the list";
  return {};
}

Complaint of_step(const Problem& problem, const Schedule& schedule, std::size_t id) {
  if (Complaint lists = of_lists(schedule, id); !lists.empty()) return lists;
  const Step& step = schedule.steps[id];
  if (is_message(step) && (step.peer < 0 || step.peer >= problem.ranks || step.peer == problem.rank))
    return "no such peer";
  const bool reads = step.kind == Step::Kind::send || step.kind == Step::Kind::copy;
  if (reads)
    if (Complaint from = of_piece(problem, schedule, step.from); !from.empty()) return "from: " + from;
  if (step.kind != Step::Kind::send) {
    if (Complaint to = of_piece(problem, schedule, step.to); !to.empty()) return "to: " + to;
    if (step.to.place == Place::input && step.to.count > 0) return "writes the input";
  }
  if (step.kind == Step::Kind::copy) return of_copy(problem, step);
  if (step.kind != Step::Kind::reduce) return {};
  const auto operands =
      std::span(schedule.operands).subspan(step.operands_begin, step.operands_end - step.operands_begin);
  for (const Piece& operand : operands)
    if (Complaint from = of_piece(problem, schedule, operand); !from.empty()) return "operand: " + from;
  return of_reduce(problem, operands, step);
}

}  // namespace

Status check_shape(const Problem& problem, const Schedule& schedule) {
  for (std::size_t id = 0; id < schedule.steps.size(); ++id)
    if (const Complaint what = of_step(problem, schedule, id); !what.empty()) return wrong(problem, schedule, id, what);
  return {};
}

}  // namespace railweave::collectives::proof

#include "collectives/schedule/proof/describe.h"

#include <utility>

#include "collectives/schedule/memory.h"

namespace railweave::collectives::proof {
namespace {

std::string bytes(const Problem& problem, const Piece& piece) {
  return std::to_string(piece.count * form_bytes(problem, piece.form)) + " bytes";
}

std::string what_it_does(const Problem& problem, const Step& step) {
  switch (step.kind) {
    case Step::Kind::send: return "send of " + bytes(problem, step.from) + " to rank " + std::to_string(step.peer);
    case Step::Kind::receive:
      return "receive of " + bytes(problem, step.to) + " from rank " + std::to_string(step.peer);
    case Step::Kind::copy: return "copy of " + bytes(problem, step.from);
    case Step::Kind::reduce:
      return "reduce of " + std::to_string(step.operands_end - step.operands_begin) + " operands";
  }
  return "?";
}

}  // namespace

std::string describe(const Problem& problem, const Schedule& schedule, std::size_t step) {
  return "rank " + std::to_string(problem.rank) + " step " + std::to_string(step) + " (" +
         what_it_does(problem, schedule.steps[step]) + ")";
}

Status wrong(std::string message) { return Status(Code::internal, Scope::request, std::move(message)); }

Status wrong(const Problem& problem, const Schedule& schedule, std::size_t step, const std::string& what) {
  return wrong(describe(problem, schedule, step) + ": " + what);
}

}  // namespace railweave::collectives::proof

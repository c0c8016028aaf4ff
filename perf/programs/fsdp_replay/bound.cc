#include "fsdp_replay/bound.h"

#include <algorithm>

#include "fsdp_replay/step_program.h"

namespace railweave::perf::fsdp_replay {

Nanos bound_of(const Trace& trace, const Ring& ring) {
  const StepProgram program = fsdp_step(trace, 0, 0);
  const auto on_wire = [&](std::size_t operation) {
    return ring.on_wire(ring.bytes_moved(program.operations[operation].bytes));
  };
  // Gathers are in the order in which computing needs them.
  Nanos gathered{}, computed{};
  std::vector<Nanos> made;  // by piece: when its gradient is ready
  for (std::size_t i = 0; i < program.pieces.size(); ++i) {
    const StepProgram::StepPiece& piece = program.pieces[i];
    if (program.gathers_for(i)) gathered += on_wire(piece.gather);
    computed = std::max(computed, gathered) + piece.duration;
    made.push_back(computed);
  }
  // Gathers leave no gap on the wire, so reductions follow the last gather.
  Nanos wire = gathered;
  for (std::size_t operation = 0; operation < program.operations.size(); ++operation) {
    if (program.operations[operation].kind != StepProgram::Kind::reduce) continue;
    wire = std::max(wire, made[program.operations[operation].piece]) + on_wire(operation);
  }
  return std::max(computed, wire) + trace.optimizer;
}

}  // namespace railweave::perf::fsdp_replay

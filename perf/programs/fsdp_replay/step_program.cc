#include "fsdp_replay/step_program.h"

#include <algorithm>

namespace railweave::perf::fsdp_replay {
namespace {

using Act = StepProgram::Act;

struct Pass {
  std::vector<const Layer*> layers;  // in the order of the pass
  bool backward = false;
  std::size_t prefetch = 0;
};

void issue(StepProgram& program, StepProgram::Kind kind, std::size_t bytes, std::size_t piece) {
  program.acts.push_back({Act::Kind::issue, program.operations.size()});
  program.operations.push_back({kind, bytes, piece});
}

void add(StepProgram& program, const Pass& pass) {
  const std::size_t first = program.pieces.size();
  std::size_t gathered = 0;
  for (std::size_t i = 0; i < pass.layers.size(); ++i) {
    for (; gathered < std::min(i + pass.prefetch + 1, pass.layers.size()); ++gathered) {
      const Layer& ahead = *pass.layers[gathered];
      const bool again = pass.backward && ahead.kept;
      const std::size_t forwards = pass.layers.size() - 1 - gathered;  // index of the same layer in forward, if this is
                                                                       // backward
      program.pieces.push_back({pass.backward ? ahead.backward : ahead.forward,
                                again ? program.pieces[forwards].gather : program.operations.size(),
                                pass.backward || !ahead.kept, pass.backward ? ahead.reduce_bytes : 0});
      if (!again) issue(program, StepProgram::Kind::gather, ahead.gather_bytes, first + gathered);
    }
    program.acts.push_back({Act::Kind::launch, first + i});
    if (pass.backward) issue(program, StepProgram::Kind::reduce, pass.layers[i]->reduce_bytes, first + i);
  }
}

}  // namespace

StepProgram fsdp_step(const Trace& trace, int forward_prefetch, int backward_prefetch) {
  Pass forward{.layers = {}, .backward = false, .prefetch = std::size_t(forward_prefetch)};
  for (const Layer& layer : trace.layers) forward.layers.push_back(&layer);
  Pass backward{.layers = forward.layers, .backward = true, .prefetch = std::size_t(backward_prefetch)};
  std::reverse(backward.layers.begin(), backward.layers.end());
  StepProgram program;
  add(program, forward);
  add(program, backward);
  return program;
}

}  // namespace railweave::perf::fsdp_replay

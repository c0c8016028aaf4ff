// A step of FSDP1 in the order in which its CPU thread issues and launches (docs/guide/replay.md).
#pragma once

#include <cstddef>
#include <vector>

#include "fsdp_replay/trace.h"
#include "railweave/endpoint.h"

namespace railweave::perf::fsdp_replay {

struct StepProgram {
  bool gathers_for(std::size_t piece) const { return operations[pieces[piece].gather].piece == piece; }

  enum class Kind { gather, reduce };
  struct Operation {
    Kind kind = Kind::gather;
    std::size_t bytes = 0;
    std::size_t piece = 0;  // index of the piece that needs the gathered bytes, or makes the reduced ones
    Priority priority() const { return kind == Kind::gather ? Priority::urgent : Priority::normal; }
  };
  // A piece of the device's computing. Pieces run in the order of `pieces`.
  struct StepPiece {
    Nanos duration{};
    std::size_t gather = 0;          // index of its operation; a kept unit's backward has that of its forward
    bool frees = true;               // the unit's parameters are freed at the end
    std::size_t gradient_bytes = 0;  // bytes of the gradient that the piece makes
  };
  struct Act {
    enum class Kind { issue, launch };
    Kind kind = Kind::issue;
    std::size_t which = 0;  // index of the operation or piece
  };
  std::vector<Operation> operations;  // in the order of issue
  std::vector<StepPiece> pieces;
  std::vector<Act> acts;
};

// Issues all-gathers that many units ahead of the unit that computes.
StepProgram fsdp_step(const Trace& trace, int forward_prefetch, int backward_prefetch);

}  // namespace railweave::perf::fsdp_replay

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
    std::size_t piece = 0;  // that needs what is gathered; that makes what is reduced
    Priority priority() const { return kind == Kind::gather ? Priority::urgent : Priority::normal; }
  };
  // One piece of the device's computing. Pieces run in the order of `pieces`.
  struct StepPiece {
    Nanos duration{};
    std::size_t gather = 0;          // operation; of a kept unit's backward that of its forward
    bool frees = true;               // its unit's parameters are given back as it ends
    std::size_t gradient_bytes = 0;  // that it makes
  };
  struct Act {
    enum class Kind { issue, launch };
    Kind kind = Kind::issue;
    std::size_t which = 0;  // operation, or piece
  };
  std::vector<Operation> operations;  // in the order of issue
  std::vector<StepPiece> pieces;
  std::vector<Act> acts;
};

// All-gathers are issued so many units before the one that computes.
StepProgram fsdp_step(const Trace& trace, int forward_prefetch, int backward_prefetch);

}  // namespace railweave::perf::fsdp_replay

// A dump as JSON (docs/internals/packages.md). Names are those of torch's flight recorder where it has one.
// Source: torch/csrc/distributed/c10d/FlightRecorder.hpp.
// Threads: any; no state.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "torch_ext/csrc/group_progress.h"
#include "torch_ext/csrc/python_stacks.h"

namespace railweave::torch_ext {

struct Dump {
  std::string reason;  // "timeout", "failed" or "asked"
  std::string why;     // the error of the first group that failed; empty: asked
  std::string host;
  int pid = 0;
  std::vector<GroupState> groups;
  PythonStacks stacks;
};

inline constexpr std::size_t kDumpBytesMost = 256 * KiB;

// Returns the text, of at most kDumpBytesMost. What finds no room is left out and counted: the oldest completed
// operations first, then the newest unfinished ones, then groups without unfinished operations.
std::string dump_text(const Dump& dump);

}  // namespace railweave::torch_ext

// Ranks whose calls of one collective differ.
// Threads: any; no state.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "explain/job.h"

namespace railweave::explain {

struct Mismatch {
  std::size_t group = 0;     // index in Job::groups()
  std::uint64_t number = 0;  // of the collective
  bool sizes_only = false;   // the same operation, dtype, reduction and root
  // Ranks by what they called, the largest class first. Within a class the calls are equal.
  struct Class {
    std::vector<std::uint64_t> ranks;
    const Operation* call = nullptr;  // of the first rank
  };
  std::vector<Class> classes;
};

// Returns the first collective of the first group in which calls differ, among those that some rank has not finished.
std::optional<Mismatch> find_mismatch(const Job& job);

}  // namespace railweave::explain

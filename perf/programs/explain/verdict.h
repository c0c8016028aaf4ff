// Judges a hung or failed job from the dumps of its ranks.
// Threads: any; no state.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "explain/job.h"
#include "explain/mismatch.h"
#include "explain/waits.h"

namespace railweave::explain {

enum class Cause {
  other_operation,  // the culprits are in another operation than the other ranks
  other_sizes,      // the culprits called the operation with other sizes
  lost,             // the culprits ended: they wrote no dump, and the others noticed at once
  silent,           // the culprits wrote no dump, and the others waited for a whole timeout: stopped, or cut off
  absent,           // the culprits run, but have not called the operation
  deadlock,         // ranks wait for each other in different groups, or in messages
  stalled,          // all ranks are in the same operation: their messages do not arrive
  unknown,
};
std::string_view name(Cause cause);  // "other_operation"

struct Verdict {
  Cause cause = Cause::unknown;
  std::vector<std::uint64_t> culprits;   // global ranks, ascending; empty: unknown
  std::vector<std::size_t> groups;       // indices in Job::groups() of the operations in question
  std::vector<Waiting> examples;         // ranks in these operations, one for each operation; a culprit's last
  std::vector<Mismatch::Class> classes;  // of other_operation and other_sizes; the largest first
};

// The verdict's pointers are into `job`.
Verdict judge(const Job& job);

}  // namespace railweave::explain

// Follows from rank to rank whom operations wait for, up to the ranks at which all waiting ends.
// Threads: any; no state.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "explain/job.h"

namespace railweave::explain {

// A rank in the operation at which the rank hangs.
struct Waiting {
  std::uint64_t rank = 0;
  std::size_t dump = 0;  // index in Job::dumps()
  const Operation* operation = nullptr;
};

struct Waits {
  // Ranks at which waiting ends.
  std::set<std::uint64_t> without_dump;  // nothing is known of the rank
  // The rank has not called the operation, and hangs in no other. Or the rank called the operation when others had
  // given up.
  std::set<std::uint64_t> elsewhere;
  std::set<std::uint64_t> finished;           // the rank has finished the operation in which others wait for it
  std::vector<std::vector<Waiting>> circles;  // each rank waits for the next one, the last for the first
};

// Returns the operation at which the rank of a dump hangs: the oldest unfinished one for which a Python thread waits,
// else the oldest that waits for a rank, else the oldest. Null: none is unfinished.
const Operation* hangs_in(const Dump& dump);

// Returns true if `operation`, of the rank of `theirs`, was called after the rank of `dump` had given up waiting.
// Returns false for ranks of two hosts, whose clocks may differ.
bool came_late(const Dump& dump, const Dump& theirs, const Operation& operation);

Waits follow_waits(const Job& job);

}  // namespace railweave::explain

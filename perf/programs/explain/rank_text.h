// Names of ranks, operations and places in the sentences and tables of an explanation.
// Threads: any; no state.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "explain/job.h"

namespace railweave::explain {

// Returns "rank 1", or "ranks 0, 1, 4 to 7"; of many ranges the first ones, "and N more".
std::string ranks_text(const std::vector<std::uint64_t>& ranks);
// Returns "all_reduce number 17", or "recv from rank 3"; ranks are global.
std::string operation_text(const Job::Group& group, const Operation& operation);
// Returns "group 'dp' of 4 ranks".
std::string group_text(const Job::Group& group);
// Returns "all_reduce of float32 (sum), elements 1024 Float"; as far as it is known.
std::string call_text(const Operation& operation);
// Returns "train.py:41 in step": the innermost frame that is the program's own, not torch's or Railweave's. Empty: none
// is known.
std::string place_text(const std::vector<Frame>& frames);
// Returns where the rank is: the thread that waits for `operation` (null: none), else the main thread.
std::string place_of(const Dump& dump, const Operation* operation);
// Returns the global ranks for which the operation waits, ascending.
std::vector<std::uint64_t> awaited_ranks(const Job::Group& group, const Operation& operation);

}  // namespace railweave::explain

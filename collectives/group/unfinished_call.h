// A collective operation that is not over, as a diagnosis sees it. A plain value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace railweave::collectives {

class Work;

struct UnfinishedCall {
  const Work* work = nullptr;  // for comparison only: the object may be gone
  std::string call;            // "all_reduce of float32 (sum)"; the same on every rank that makes the same call
  std::uint64_t counts = 0;  // a hash of the counts and of Hints::part; the same on every rank that makes the same call
  bool started = false;      // false: held by the scheduler, or behind an earlier operation
  std::vector<int> awaited;  // ranks whose part has not come; if all came, ranks that have not taken ours; ascending
};

}  // namespace railweave::collectives

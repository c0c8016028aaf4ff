// What algorithms share about ranks and about how far a pipeline runs ahead.
#pragma once

#include <cstddef>

#include "collectives/schedule/problem.h"

namespace railweave::collectives {

// Chunks of one peer that scratch memory has room for. More than are on their way at once, few enough to stay in cache.
inline constexpr std::size_t kSlots = 16;
// How many chunks the second phase of an operation is behind the first, in the order they are posted. Long enough for a chunk
// to cross the network and to be reduced while others are sent. Less than kSlots.
inline constexpr std::size_t kLag = 4;

// The rank `distance` after `rank`, in a circle; -ranks <= distance.
inline int around(const Problem& problem, int rank, int distance) {
  return (rank + distance + problem.ranks) % problem.ranks;
}

inline bool always(const Problem&) { return true; }
inline bool several(const Problem& problem) { return problem.ranks > 1; }

}  // namespace railweave::collectives

// What algorithms share about ranks and about how far a pipeline runs ahead.
#pragma once

#include <cstddef>

#include "collectives/schedule/problem.h"

namespace railweave::collectives {

// Chunks of one peer that scratch memory has room for. More than are on their way at once, few enough to stay in cache.
inline constexpr std::size_t kSlots = 16;
// How many chunks the second phase of an operation is behind the first, in the order they are posted. Long enough for a
// chunk to cross the network and to be reduced while others are sent. Less than kSlots.
inline constexpr std::size_t kLag = 4;
// The same where ranks may be in place: a result may come only where an input has left, which its receiver must have
// acknowledged. Between hosts that is a round trip more.
inline constexpr std::size_t kLagOfRoundTrip = 10;

// The rank `distance` after `rank`, in a circle; -ranks <= distance.
inline int around(const Problem& problem, int rank, int distance) {
  return (rank + distance + problem.ranks) % problem.ranks;
}

inline bool power_of_two(const Problem& problem) {
  return problem.ranks > 1 && (problem.ranks & (problem.ranks - 1)) == 0;
}

// Rounds in which a distance that doubles gets past every rank.
inline int rounds_of_doubling(const Problem& problem) {
  int rounds = 0;
  while ((1 << rounds) < problem.ranks) ++rounds;
  return rounds;
}

// Bytes that travel for each byte of a partial sum.
inline double widening(const Problem& problem) { return double(problem.partial_bytes) / double(problem.element_bytes); }

inline bool always(const Problem&) { return true; }
inline bool several(const Problem& problem) { return problem.ranks > 1; }

}  // namespace railweave::collectives

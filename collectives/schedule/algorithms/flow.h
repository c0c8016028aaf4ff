// Shared by the algorithms: distances between ranks, and how far a pipeline runs ahead.
#pragma once

#include <cstddef>

#include "collectives/schedule/problem.h"

namespace railweave::collectives {

// Chunks per peer in scratch memory: more than are in flight at once, few enough to stay in cache.
inline constexpr std::size_t kSlots = 16;
// Chunks by which the second phase of an operation is posted behind the first. The lag lets a chunk cross the network
// and be reduced while others are sent. Less than kSlots.
inline constexpr std::size_t kLag = 4;
// The same lag if ranks may be in place: a result may arrive only where an input was sent and acknowledged by its
// receiver. Between hosts this takes one more round trip.
inline constexpr std::size_t kLagOfRoundTrip = 10;

// Returns the rank `distance` after `rank` on the circle of ranks. REQUIRES: distance >= -ranks.
inline int around(const Problem& problem, int rank, int distance) {
  return (rank + distance + problem.ranks) % problem.ranks;
}

inline bool power_of_two(const Problem& problem) {
  return problem.ranks > 1 && (problem.ranks & (problem.ranks - 1)) == 0;
}

// Rounds until a distance that doubles each round reaches past all ranks.
inline int rounds_of_doubling(const Problem& problem) {
  int rounds = 0;
  while ((1 << rounds) < problem.ranks) ++rounds;
  return rounds;
}

// Bytes of a partial sum per byte of an element.
inline double widening(const Problem& problem) { return double(problem.partial_bytes) / double(problem.element_bytes); }

inline bool always(const Problem&) { return true; }
inline bool several(const Problem& problem) { return problem.ranks > 1; }

}  // namespace railweave::collectives

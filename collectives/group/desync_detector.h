// Finds ranks that run different operations. If no message of one operation reaches the other (two roots of one reduce,
// say), both ranks stand still without an error. While nothing moves, ranks compare their operations by the store.
// Threads: any; no state.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "collectives/group/fingerprint.h"
#include "collectives/rendezvous/rendezvous.h"
#include "railweave/endpoint.h"

namespace railweave::collectives {

struct ProgressReport {
  int rank = 0;
  std::array<Fingerprint, kPriorities> doing{};  // the oldest unfinished operation of each priority; 0: none
  std::vector<int> awaited;                      // ranks for which these operations wait
};

// Publishes `own` to the store, and reads the reports of the awaited ranks, of eight ranks at most. Returns the
// mismatch() with a rank that runs another operation of the same number; empty: none found. Blocks on the store.
std::string compare(const Rendezvous& place, const ProgressReport& own);

}  // namespace railweave::collectives

// Ranks whose operations differ so that neither gets anything of the other's (two roots of one reduce, say) stand still
// without an error: no message shows it. While nothing moves they compare what they do, by way of the store.
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
  std::array<Fingerprint, kPriorities> doing{};  // the oldest unfinished operation of each class; 0: none
  std::vector<int> awaited;                      // ranks
};

// Tells the others, and looks at what those said that are awaited, eight of them at most: who does another operation
// of the same number, and which; empty: nobody. Waits for the store.
std::string compare(const Rendezvous& place, const ProgressReport& own);

}  // namespace railweave::collectives

// Every state of a small world that some interleaving of its moves leads to.
#pragma once

#include <cstddef>
#include <string>

#include "world.h"

namespace railweave::collectives_test {

struct Found {
  std::size_t states = 0;
  // From which nothing leads to where everything is over but luck: as ranks go on of themselves, and where none can,
  // all that is live stalls (at once, or what has been idle for the longest first).
  std::size_t dead = 0;
  std::string example;  // of these
};

// At most four ranks.
Found search(const World& world);

}  // namespace railweave::collectives_test

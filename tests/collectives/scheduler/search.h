// Searches every state of a small world that some interleaving of its moves leads to.
#pragma once

#include <cstddef>
#include <string>

#include "world.h"

namespace railweave::collectives_test {

struct Found {
  std::size_t states = 0;
  // States from which only luck leads to the end. Without luck, ranks make the moves that come by themselves. Where no
  // rank has one, all live operations stall (at once, or the longest idle first).
  std::size_t dead = 0;
  std::string example;  // one of the dead states
};

// REQUIRES: four ranks at most.
Found search(const World& world);

}  // namespace railweave::collectives_test

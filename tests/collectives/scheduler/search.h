// Every interleaving of a small world.
#pragma once

#include <cstddef>
#include <string>

#include "world.h"

namespace railweave::collectives_test {

struct Found {
  std::size_t states = 0;
  std::size_t dead = 0;                    // from which no way leads to where everything is over
  std::string example;                     // of these
};

Found search(const World& world);

}  // namespace railweave::collectives_test

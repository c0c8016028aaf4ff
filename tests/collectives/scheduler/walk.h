// Walks at random through a world of any size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "world.h"

namespace railweave::collectives_test {

struct Walked {
  bool over = false;
  std::size_t moves = 0;
  std::size_t turns_passed = 0;  // moves that were stalls
  std::string where;             // the last state; empty: over
};

// Ranks have random speeds: some move a hundredth as often as others. Ends when all is over, when nothing can move, or
// after `moves_most` moves.
Walked walk(const World& world, std::uint64_t seed, std::size_t moves_most);

}  // namespace railweave::collectives_test

// One way of chance through a world of any size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "world.h"

namespace railweave::collectives_test {

struct Walked {
  bool over = false;
  std::size_t moves = 0;
  std::size_t turns_passed = 0;  // of the moves
  std::string where;             // it stood, if it is not over
};

// Every rank as quick as chance has it: some move a hundredth as often as others. Ends where everything is over, where
// nothing can move, or after `moves_most`.
Walked walk(const World& world, std::uint64_t seed, std::size_t moves_most);

}  // namespace railweave::collectives_test

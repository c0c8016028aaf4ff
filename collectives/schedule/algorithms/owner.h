// The owner of a run of elements gets everybody's raw input of it and reduces once, in the order of the ranks.
#pragma once

#include <vector>

#include "collectives/schedule/builder.h"

namespace railweave::collectives {

class Owner {
 public:
  // For at most `chunks` chunks of at most `longest` elements.
  Owner(Builder& builder, std::size_t chunks, std::size_t longest);
  // From all others, the nearest before this rank first.
  void receive(std::size_t chunk, std::size_t count);
  // `own`: this rank's raw input of that chunk.
  void reduce(std::size_t chunk, const Piece& own, const Piece& to);

 private:
  Slots& slots_of(int rank) { return slots_[std::size_t(rank < builder_.problem().rank ? rank : rank - 1)]; }

  Builder& builder_;
  std::vector<Slots> slots_;  // of each other rank
  std::vector<Piece> operands_;
};

}  // namespace railweave::collectives

// Reduces chunks at their owner. The owner receives the raw input of every rank and reduces once, in the order of
// ranks.
#pragma once

#include <vector>

#include "collectives/schedule/builder.h"

namespace railweave::collectives {

class Owner {
 public:
  // For at most `chunks` chunks of at most `longest` elements each.
  Owner(Builder& builder, std::size_t chunks, std::size_t longest);
  // Receives a chunk from all other ranks, starting with the nearest one before this rank.
  void receive(std::size_t chunk, std::size_t count);
  // Reduces a chunk. `own`: this rank's raw input of the chunk.
  void reduce(std::size_t chunk, const Piece& own, const Piece& to);

 private:
  Slots& slots_of(int rank) { return slots_[std::size_t(rank < builder_.problem().rank ? rank : rank - 1)]; }

  Builder& builder_;
  std::vector<Slots> slots_;  // by other rank
  std::vector<Piece> operands_;
};

}  // namespace railweave::collectives

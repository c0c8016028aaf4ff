// The two halves of ring algorithms, for a vector with one shard per rank.
#pragma once

#include <functional>
#include <vector>

#include "collectives/schedule/algorithms/flow.h"
#include "collectives/schedule/builder.h"

namespace railweave::collectives {

// Chunks of every shard that travel around together before the next ones start. Few enough for their sums to fit in
// scratch memory, enough to keep every link busy.
inline constexpr std::size_t kRingGroup = kSlots / 2;

class Ring {
 public:
  Ring(Builder& builder, const Layout& layout);
  int next() const { return around(builder_.problem(), builder_.problem().rank, 1); }
  int previous() const { return around(builder_.problem(), builder_.problem().rank, -1); }
  // Chunks of the shard of the rank `hops` before this one. 0: this rank's own shard.
  const Chunks& chunks(int hops) const { return chunks_[std::size_t(hops % builder_.problem().ranks)]; }
  // Chunks of the longest shard, and elements of the longest chunk.
  std::size_t most() const { return most_; }
  std::size_t longest() const { return longest_; }

  // Receives these chunks of the other ranks' shards into the output, and sends them on except at the last hop.
  // REQUIRES: every rank has sent these chunks of its own shard to the next rank.
  void hand_on(std::size_t first_chunk, std::size_t end_chunk, Form form);

 private:
  Builder& builder_;
  std::vector<Chunks> chunks_;  // by hops
  std::size_t most_ = 0, longest_ = 0;
};

// Reduces every rank's shard on its way around the ring, from the rank after its owner to the owner.
class RingReduction {
 public:
  // `place_of` returns the place for the result of a chunk of this rank's own shard. REQUIRES: several ranks.
  RingReduction(Builder& builder, const Ring& ring, std::function<Piece(Range)> place_of);
  void reduce(std::size_t first_chunk, std::size_t end_chunk);

 private:
  void add(int hops, Range chunk);

  Builder& builder_;
  const Ring& ring_;
  std::function<Piece(Range)> place_of_;
  bool widens_;  // partial sums are wider than raw elements
  Slots raw_, sums_;
  std::size_t item_ = 0;  // chunks received so far, index of the next slot
};

}  // namespace railweave::collectives

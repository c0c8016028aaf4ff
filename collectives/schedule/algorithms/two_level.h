// The two halves of two-level algorithms, for a vector with one shard per rank. Between two hosts a shard travels once,
// to or from the owner's delegate; the ranks of a host share this work. Every rank visits chunks and shards in the same
// order, so messages between two ranks have one order on both sides.
#pragma once

#include <functional>
#include <vector>

#include "collectives/schedule/algorithms/hosts.h"
#include "collectives/schedule/builder.h"

namespace railweave::collectives {

// The chunks of all shards.
class Shards {
 public:
  Shards(const Problem& problem, const Layout& layout);
  int count() const { return int(chunks_.size()); }
  // Returns chunk `k` of a shard; may be empty.
  Range chunk(int shard, std::size_t k) const { return chunks_[std::size_t(shard)][k]; }
  // Chunks of the longest shard, and elements of the longest chunk.
  std::size_t most() const { return most_; }
  std::size_t longest() const { return longest_; }

 private:
  std::vector<Chunks> chunks_;
  std::size_t most_ = 0, longest_ = 0;
};

// Brings every shard from its owner to the output of all ranks.
class TwoLevelSpread {
 public:
  // `own`: the place of a chunk of this rank's shard; its form is the form in which other ranks get it.
  TwoLevelSpread(Builder& builder, const Hosts& hosts, const Shards& shards, std::function<Piece(Range)> own);
  // Sends chunk `k` from the owners to the ranks of their hosts and to their delegates.
  void from_owners(std::size_t k);
  // Sends chunk `k` from the delegates to the ranks of their hosts. REQUIRES: after from_owners(k).
  void from_delegates(std::size_t k);

 private:
  Builder& builder_;
  const Hosts& hosts_;
  const Shards& shards_;
  std::function<Piece(Range)> own_;
};

// Reduces every shard at its owner. Each host first reduces at the owner's delegate.
class TwoLevelReduction {
 public:
  // `place_of`: the place for the result of a chunk of this rank's shard.
  TwoLevelReduction(Builder& builder, const Hosts& hosts, const Shards& shards, std::function<Piece(Range)> place_of);
  void within_hosts(std::size_t k);
  // REQUIRES: after within_hosts(k), fewer than kSlots chunks behind.
  void between_hosts(std::size_t k);

 private:
  // Scratch memory for a shard whose delegate on this host is this rank.
  struct Collected {
    std::vector<Slots> inputs;  // by member of the host; unused for this rank
    std::vector<Slots> sums;    // one; none at the owner, or if this rank is alone on its host
  };

  bool alone(int host) const { return hosts_.members(host).size() == 1; }
  void finish(std::size_t k);
  // Appends the raw inputs of a chunk on this host, in the order of ranks.
  void add_inputs(int shard, std::size_t k, std::vector<Piece>& operands) const;

  Builder& builder_;
  const Hosts& hosts_;
  const Shards& shards_;
  std::function<Piece(Range)> place_of_;
  const int rank_, host_;             // this rank and its host
  std::vector<Collected> collected_;  // by shard
  std::vector<Slots> arrivals_;       // by host: sums for this rank's shard; unused for its own host
};

}  // namespace railweave::collectives

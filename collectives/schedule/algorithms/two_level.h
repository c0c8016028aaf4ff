// The two halves of two-level algorithms, for a vector laid out in one shard a rank. Between two hosts a shard travels
// once, to or from the owner's delegate; the ranks of a host share that work. Every rank goes through chunks and shards
// in the same order, so messages between any two are in one order on both sides.
#pragma once

#include <functional>
#include <vector>

#include "collectives/schedule/algorithms/hosts.h"
#include "collectives/schedule/builder.h"

namespace railweave::collectives {

// The chunks of every shard.
class Shards {
 public:
  Shards(const Problem& problem, const Layout& layout);
  int count() const { return int(chunks_.size()); }
  // May be empty.
  Range chunk(int shard, std::size_t k) const { return chunks_[std::size_t(shard)][k]; }
  // Chunks of the longest shard, and elements of the longest chunk.
  std::size_t most() const { return most_; }
  std::size_t longest() const { return longest_; }

 private:
  std::vector<Chunks> chunks_;
  std::size_t most_ = 0, longest_ = 0;
};

// Brings every shard from its owner to the output of all.
class TwoLevelSpread {
 public:
  // `own`: where the owner has a chunk of its shard; the others get it as of that form.
  TwoLevelSpread(Builder& builder, const Hosts& hosts, const Shards& shards, std::function<Piece(Range)> own);
  // To the ranks of the owner's host and to its delegates.
  void from_owners(std::size_t k);
  // From the delegates to the others of their hosts; after from_owners() of the same chunk.
  void from_delegates(std::size_t k);

 private:
  Builder& builder_;
  const Hosts& hosts_;
  const Shards& shards_;
  std::function<Piece(Range)> own_;
};

// Reduces every shard at its owner: first within each host, at the owner's delegate.
class TwoLevelReduction {
 public:
  // `place_of`: where the result of a chunk of this rank's shard goes.
  TwoLevelReduction(Builder& builder, const Hosts& hosts, const Shards& shards, std::function<Piece(Range)> place_of);
  void within_hosts(std::size_t k);
  // After within_hosts() of the same chunk; fewer than kSlots chunks behind.
  void between_hosts(std::size_t k);

 private:
  // Memory for a shard whose delegate on its host this rank is.
  struct Collected {
    std::vector<Slots> inputs;  // by member of the host; unused for this rank
    std::vector<Slots> sums;    // one; none at the owner and for a rank alone on its host
  };

  bool alone(int host) const { return hosts_.members(host).size() == 1; }
  void finish(std::size_t k);
  // Raw inputs of a chunk on this host, in the order of the ranks.
  void add_inputs(int shard, std::size_t k, std::vector<Piece>& operands) const;

  Builder& builder_;
  const Hosts& hosts_;
  const Shards& shards_;
  std::function<Piece(Range)> place_of_;
  const int rank_, host_;             // this one's
  std::vector<Collected> collected_;  // by shard
  std::vector<Slots> arrivals_;       // by host: sums for this rank's shard; unused for its own
};

}  // namespace railweave::collectives

// What the ranks of a group on one host show each other: slots and counters in memory that all map
// (docs/internals/shm_exchange.md). Operations are numbered from 0, the same on every rank.
//
// Threads: one at a time; is_there() any. Life: the memory lasts as long as this does, whatever the others do.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "collectives/group/fingerprint.h"
#include "collectives/shared_memory/layout.h"
#include "collectives/shared_memory/shm_memory.h"

namespace railweave::collectives {

class ShmExchange {
 public:
  struct Contribution {
    Fingerprint fingerprint = 0;
    std::span<const std::byte> data;
    std::uint32_t counts_hash = 0;  // 31 bits
    bool offered = false;           // `data` is where it always was, in the memory of its rank's process
  };

  static std::size_t memory_bytes(int ranks) { return std::size_t(ranks) * sizeof(ShmColumn); }
  // `memory` has memory_bytes(ranks), was zero when the first rank came and is this group's alone.
  ShmExchange(ShmMemory memory, int rank, int ranks);

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }

  // Whether nobody needs any more what our slot of operation `number` holds.
  bool has_room(std::uint64_t number);
  // Whether all are done with `number`.
  bool read_by_all(std::uint64_t number) { return has_room(number + ShmColumn::kSlots); }
  // REQUIRES: has_room(number); data of at most ShmSlot::kBytesMax. Offered data stays where it is, as it is, until all
  // are done with it or it is withdrawn.
  void post(std::uint64_t number, const Contribution& contribution);
  bool is_there(int rank, std::uint64_t number) const;
  // What `rank` posted; until done_with(number) here. REQUIRES: is_there(rank, number).
  Contribution posted(int rank, std::uint64_t number) const;
  // Its fingerprint alone, also where done_with() was said: 0 once another is there.
  Fingerprint header(int rank, std::uint64_t number) const;
  // Whether what was read of an offered contribution counts: it was not withdrawn before.
  bool stands(int rank, std::uint64_t number);
  // Takes back what this rank offered: from here on nothing counts that others read of it.
  void withdraw_offers();
  // This rank needs no contribution up to that of `number` any more. REQUIRES: in ascending order.
  void done_with(std::uint64_t number);
  // Our slot of `number` will be written soon: its first line is fetched to this core meanwhile.
  void prepare(std::uint64_t number) const { __builtin_prefetch(&slot(rank_, number), 1); }
  // The ranks that may still need what our slot of `number` holds.
  std::vector<int> readers_of_slot(std::uint64_t number) const;
  // The ranks that are not done with `number`.
  std::vector<int> readers_of(std::uint64_t number) const { return readers_of_slot(number + ShmColumn::kSlots); }

  struct Issued {
    Fingerprint fingerprint = 0;  // with the call's number in it; 0: not known
    std::uint64_t bytes = 0;      // as announced_bytes() says
    std::uint32_t counts_hash = 0;
    bool on_exchange = false;  // else over streams
  };
  // So many bytes, as the others are told: the most stands for more, too.
  static constexpr std::uint64_t kAnnouncedMax = 0xffff'ffff;
  static std::uint64_t announced_bytes(std::uint64_t bytes) { return std::min(bytes, kAnnouncedMax); }
  struct Copying {
    bool wants_offers = false;      // of what the others have
    std::uint32_t put_cost_ps = 0;  // of a byte that it copies into a slot; 0: not known
  };
  // Tells how this rank finds copying.
  void publish_copying(const Copying& how);
  Copying copying(int rank) const;
  // Tells what our call of the number in its fingerprint is.
  void publish_issued(const Issued& call);
  // What `rank` told of its call of that fingerprint's number; unknown, too, where it is too long ago or still to come.
  Issued issued(int rank, Fingerprint number) const;

 private:
  ShmColumn& column(int rank) const;
  ShmSlot& slot(int rank, std::uint64_t number) const { return column(rank).slots[number % ShmColumn::kSlots]; }
  ShmColumn::Issued& issued_place(int rank, Fingerprint number) const {
    return column(rank).issued[number_of(number) % ShmColumn::kIssued];
  }

  ShmMemory memory_;
  const int rank_, ranks_;
  std::uint64_t read_by_all_ = 0;  // as of the last look: the least of all columns' `read`
};

}  // namespace railweave::collectives

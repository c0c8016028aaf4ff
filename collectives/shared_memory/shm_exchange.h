// Slots and counters in shared memory, by which the ranks of a group on one host show each other contributions
// (docs/internals/shm_exchange.md). Operations of the exchange are numbered from 0, the same on every rank.
//
// Threads: one at a time; is_there(): any.
// Lifetime: the mapping lasts as long as this object, whatever other ranks do.
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
    bool offered = false;           // `data` is an address in the process of the rank that posted
  };

  static std::size_t memory_bytes(int ranks) { return std::size_t(ranks) * sizeof(ShmColumn); }
  // `memory`: memory_bytes(ranks) long, zero when the first rank mapped it, used by this group alone.
  ShmExchange(ShmMemory memory, int rank, int ranks);

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }

  // Returns true if no rank needs the earlier contents of our slot for operation `number`.
  bool has_room(std::uint64_t number);
  // Returns true if all ranks are done with operation `number`.
  bool read_by_all(std::uint64_t number) { return has_room(number + ShmColumn::kSlots); }
  // Publishes this rank's contribution. Offered data must stay valid and unchanged until all ranks are done with
  // `number`, or withdraw_offers() has returned. REQUIRES: has_room(number); data of at most ShmSlot::kBytesMax.
  void post(std::uint64_t number, const Contribution& contribution);
  // Returns true if `rank` has posted operation `number`.
  bool is_there(int rank, std::uint64_t number) const;
  // Returns what `rank` posted, valid until done_with(number) here. REQUIRES: is_there(rank, number).
  Contribution posted(int rank, std::uint64_t number) const;
  // Returns the contribution's fingerprint alone, also after done_with(number). 0: the slot has another operation by
  // now.
  Fingerprint header(int rank, std::uint64_t number) const;
  // Confirms an offered contribution after it was read. False: its rank withdrew it, and the bytes read do not count.
  bool stands(int rank, std::uint64_t number);
  // Withdraws this rank's offers. Bytes that other ranks read of an offer and have not confirmed yet do not count.
  void withdraw_offers();
  // Declares that this rank needs no contribution up to operation `number` any more. REQUIRES: ascending order.
  void done_with(std::uint64_t number);
  // Prefetches the first cache line of our slot for `number`, which will be written soon.
  void prepare(std::uint64_t number) const { __builtin_prefetch(&slot(rank_, number), 1); }
  // Ranks that may still need the earlier contents of our slot for `number`.
  std::vector<int> readers_of_slot(std::uint64_t number) const;
  // Ranks that are not done with operation `number`.
  std::vector<int> readers_of(std::uint64_t number) const { return readers_of_slot(number + ShmColumn::kSlots); }

  struct Issued {
    Fingerprint fingerprint = 0;  // contains the call's number; 0: not known
    std::uint64_t bytes = 0;      // announced_bytes() of this rank's contribution
    std::uint32_t counts_hash = 0;
    bool on_exchange = false;  // false: over streams
  };
  // Bytes as announced to other ranks. kAnnouncedMax means so many or more.
  static constexpr std::uint64_t kAnnouncedMax = 0xffff'ffff;
  static std::uint64_t announced_bytes(std::uint64_t bytes) { return std::min(bytes, kAnnouncedMax); }
  struct Copying {
    bool wants_offers = false;      // the rank prefers others' contributions offered
    std::uint32_t put_cost_ps = 0;  // picoseconds per byte that the rank copies into a slot; 0: not known
  };
  // Announces this rank's preference and copying cost.
  void publish_copying(const Copying& how);
  Copying copying(int rank) const;
  // Announces a call of ours; its number is in its fingerprint.
  void publish_issued(const Issued& call);
  // Returns what `rank` announced of its call with the number in `number`. Unknown (fingerprint 0) if the call is too
  // old (kIssued calls are kept) or not issued yet.
  Issued issued(int rank, Fingerprint number) const;

 private:
  ShmColumn& column(int rank) const;
  ShmSlot& slot(int rank, std::uint64_t number) const { return column(rank).slots[number % ShmColumn::kSlots]; }
  ShmColumn::Issued& issued_place(int rank, Fingerprint number) const {
    return column(rank).issued[number_of(number) % ShmColumn::kIssued];
  }

  ShmMemory memory_;
  const int rank_, ranks_;
  std::uint64_t read_by_all_ = 0;  // least `read` of all columns, when last polled
};

}  // namespace railweave::collectives

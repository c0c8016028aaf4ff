// What the ranks of a group on one host show each other: slots and counters in memory that all map (docs/board.md).
// Operations are numbered from 0, the same on every rank.
//
// Threads: one at a time. Life: the memory lasts as long as this does, whatever the others do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "collectives/board/layout.h"
#include "collectives/board/memory.h"
#include "collectives/fingerprint.h"

namespace railweave::collectives {

class Board {
 public:
  struct Posting {
    Fingerprint fingerprint = 0;
    std::span<const std::byte> data;
  };

  static std::size_t memory_bytes(int ranks) { return std::size_t(ranks) * sizeof(BoardColumn); }
  // `memory` has memory_bytes(ranks), was zero when the first rank came and is this group's alone.
  Board(BoardMemory memory, int rank, int ranks);

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }

  // Whether nobody needs any more what our slot of operation `number` holds.
  bool has_room(std::uint64_t number);
  // REQUIRES: has_room(number); data of at most BoardSlot::kBytesMax.
  void post(std::uint64_t number, const Posting& posting);
  bool is_there(int rank, std::uint64_t number) const;
  // What `rank` posted; until done_with(number) here. REQUIRES: is_there(rank, number).
  Posting posted(int rank, std::uint64_t number) const;
  // Its fingerprint alone, also where done_with() was said: 0 once another is there.
  Fingerprint header(int rank, std::uint64_t number) const;
  // This rank needs no posting up to that of `number` any more. REQUIRES: in ascending order.
  void done_with(std::uint64_t number);
  // Our slot of `number` will be written soon: its first line is fetched to this core meanwhile.
  void prepare(std::uint64_t number) const { __builtin_prefetch(&slot(rank_, number), 1); }
  // The ranks that may still need what our slot of `number` holds.
  std::vector<int> readers_of_slot(std::uint64_t number) const;

  // Tells that our call `number` of the group (over streams or not) is this one, of so many bytes.
  void tell_issued(std::uint64_t number, Fingerprint fingerprint, std::uint64_t bytes);
  struct Issued {
    Fingerprint fingerprint = 0;           // with its number in it; 0: none yet
    std::uint64_t bytes = 0;
  };
  // What `rank` told last at that place: of call `number`, or of one that many places before or behind.
  Issued issued(int rank, std::uint64_t number) const;

 private:
  BoardColumn& column(int rank) const;
  BoardSlot& slot(int rank, std::uint64_t number) const { return column(rank).slots[number % BoardColumn::kSlots]; }

  BoardMemory memory_;
  const int rank_, ranks_;
  std::uint64_t read_by_all_ = 0;          // as of the last look: the least of all columns' `read`
};

}  // namespace railweave::collectives

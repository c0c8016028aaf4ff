// What lies in a board's memory (docs/board.md). Each column has one writer, its rank.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/cache_line.h"
#include "railweave/units.h"

namespace railweave::collectives {

struct BoardSlot {
  static constexpr std::size_t kInLine = 40;
  static constexpr std::size_t kBytesMax = 64 * KiB;

  alignas(kCacheLineBytes) std::atomic<std::uint64_t> number;  // 1 + the operation's; 0 while the rest is being written
  std::atomic<std::uint64_t> fingerprint;
  std::uint64_t bytes;
  std::byte in_line[kInLine];              // data, where it fits
  std::byte beyond[kBytesMax];             // all of it, where it does not
};
static_assert(offsetof(BoardSlot, beyond) == kCacheLineBytes);

struct BoardColumn {
  static constexpr std::size_t kSlots = 8;
  static constexpr std::size_t kIssued = 64;
  struct Issued {
    std::atomic<std::uint64_t> fingerprint, bytes;
  };

  alignas(kCacheLineBytes) std::atomic<std::uint64_t> read;
  alignas(kCacheLineBytes) Issued issued[kIssued];
  BoardSlot slots[kSlots];
};

// Between processes only what needs no lock works.
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace railweave::collectives

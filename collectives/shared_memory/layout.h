// Layout of an exchange's memory (docs/internals/shm_exchange.md): one column for each rank, its only writer. (A
// reader's ShmExchange::stands() writes back the value that it read.) All zero is an empty exchange.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/cache_line.h"
#include "railweave/units.h"

namespace railweave::collectives {

inline constexpr int kShmRanksMax = 64;  // half a MiB of address space each; only written pages take memory

struct ShmSlot {
  static constexpr std::size_t kInLine = 40;
  static constexpr std::size_t kBytesMax = 64 * KiB;
  // Bit in `bytes`: the data is offered, and in_line begins with its address in the rank's process.
  static constexpr std::uint32_t kOffered = 1u << 31;

  alignas(kCacheLineBytes) std::atomic<std::uint64_t> number;  // operation's + 1; 0: being written, or withdrawn
  std::atomic<std::uint64_t> fingerprint;
  std::uint32_t bytes, counts_hash;  // length of the data, with kOffered; counts_hash(), 31 bits
  std::byte in_line[kInLine];        // data of up to kInLine bytes
  std::byte beyond[kBytesMax];       // longer data, whole
};
static_assert(offsetof(ShmSlot, beyond) == kCacheLineBytes);

struct ShmColumn {
  static constexpr std::size_t kSlots = 8;
  static constexpr std::size_t kIssued = 64;
  struct Issued {
    std::atomic<std::uint64_t> fingerprint;  // 0 while `what` is being written
    std::atomic<std::uint64_t> what;         // bytes (32 bits, saturating) | counts_hash (31) | on the exchange (1)
  };

  alignas(kCacheLineBytes) std::atomic<std::uint64_t> read;  // exchange operations that this rank is done with
  std::atomic<std::uint32_t> wants_offers;  // 1: the rank prefers others' contributions offered; 0: copied
  std::atomic<std::uint32_t> put_cost_ps;   // picoseconds per byte copied into a slot; 0: not known
  alignas(kCacheLineBytes) Issued issued[kIssued];
  ShmSlot slots[kSlots];
};

// Atomics that processes share must be lock-free. No process constructs the columns: zeroed memory is used as it is.
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::is_trivially_destructible_v<ShmColumn>);

}  // namespace railweave::collectives

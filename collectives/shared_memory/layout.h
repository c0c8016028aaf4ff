// What lies in an exchange's memory (docs/internals/shm_exchange.md): a column for each rank, which is its only writer.
// All zero is an empty one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/cache_line.h"
#include "railweave/units.h"

namespace railweave::collectives {

inline constexpr int kShmRanksMax = 64;  // half a MiB each, of which what is written is there

struct ShmSlot {
  static constexpr std::size_t kInLine = 40;
  static constexpr std::size_t kBytesMax = 64 * KiB;
  // in `bytes`: in_line begins with the data's address in its process
  static constexpr std::uint32_t kOffered = 1u << 31;

  alignas(kCacheLineBytes) std::atomic<std::uint64_t> number;  // 1 + the operation's; 0 while the rest is being written
  std::atomic<std::uint64_t> fingerprint;
  std::uint32_t bytes, counts_hash;
  std::byte in_line[kInLine];   // data, where it fits
  std::byte beyond[kBytesMax];  // all of it, where it does not
};
static_assert(offsetof(ShmSlot, beyond) == kCacheLineBytes);

struct ShmColumn {
  static constexpr std::size_t kSlots = 8;
  static constexpr std::size_t kIssued = 64;
  struct Issued {
    std::atomic<std::uint64_t> fingerprint;  // 0 while `what` is being written
    std::atomic<std::uint64_t> what;         // bytes (32 bits, at most) | counts_hash (31) | on the exchange (1)
  };

  alignas(kCacheLineBytes) std::atomic<std::uint64_t> read;
  std::atomic<std::uint32_t> wants_offers;  // 1: of the others, where they may; 0
  std::atomic<std::uint32_t> put_cost_ps;   // of a byte copied into a slot; 0: not known
  alignas(kCacheLineBytes) Issued issued[kIssued];
  ShmSlot slots[kSlots];
};

// Between processes only what needs no lock works, and nobody constructs it.
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::is_trivially_destructible_v<ShmColumn>);

}  // namespace railweave::collectives

// The shared object of two ShmLanes: one Direction and one ring each way. docs/internals/shm.md says who writes what.
// The other process may write anything anywhere at any time: read a thing once, check it, use the copy.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/cache_line.h"
#include "railweave/units.h"
#include "wire/wire.h"

namespace railweave::wire::shm {

inline constexpr std::size_t kRingBytes = 512 * KiB;  // of one direction; a power of two, whole pages
inline constexpr std::size_t kOffersMax = 64;         // outstanding
inline constexpr std::size_t kSecretBytes = 16;

// Begins a record in the ring. The frame's header follows, then, if inline, its payload, padded to kRecordAlign.
struct RecordStart {
  std::uint32_t payload_bytes = 0;
  std::uint32_t offered = 0;  // 0: inline. 1: fetch it; the n-th such record's address is in slot n mod kOffersMax
};
inline constexpr std::size_t kRecordAlign = 8;
inline constexpr std::size_t kRecordStartBytes = sizeof(RecordStart) + kHeaderBytes;
static_assert(kRecordStartBytes % kRecordAlign == 0);

// Values of a slot that are no addresses.
inline constexpr std::uint64_t kGone = 0;        // the writer's lane ended
inline constexpr std::uint64_t kCopyPlease = 1;  // the reader cannot read there

// Bits of Direction::waits.
inline constexpr std::uint32_t kForInput = 1, kForRoom = 2;

// Whether the reader fetches large payload from the writer's memory.
enum class OneCopy {
  never,
  always,    // where the proof succeeds
  measured,  // and where it costs less than two copies: see base/copy_choice.h
};

// As the reader tells the writer.
enum class Fetching : std::uint32_t { no = 0, yes = 1 };

struct Direction {
  // --- by the writer
  alignas(kCacheLineBytes) std::atomic<std::uint64_t> head;  // bytes put, ever
  std::atomic<std::uint32_t> finished;                       // 1: and no more will be
  // 16 random bytes that lie at this address of the writer's own memory; 0: not told yet.
  alignas(kCacheLineBytes) std::atomic<std::uint64_t> secret_address;
  std::array<std::atomic<std::uint8_t>, kSecretBytes> secret;
  std::atomic<std::uint32_t> put_cost_ps;  // picoseconds that a byte's copy into the ring takes; 0: not known

  // --- by the reader
  alignas(kCacheLineBytes) std::atomic<std::uint64_t> tail;  // bytes whose room is free again, ever
  std::atomic<std::uint64_t> fetched;                        // offers done with, ever
  std::atomic<std::uint64_t> consumed_bytes;                 // of headers and payload, ever
  std::atomic<Fetching> fetching;                            // whether it can read the writer's memory

  // --- by the writer's end before it sleeps: for what it wants to be woken. Cleared by the other, who then does
  alignas(kCacheLineBytes) std::atomic<std::uint32_t> waits;

  // --- by both: where the payload of the outstanding offers is
  alignas(kCacheLineBytes) std::array<std::atomic<std::uint64_t>, kOffersMax> slots;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<Fetching>::is_always_lock_free);

}  // namespace railweave::wire::shm

// The layout of the memory that two ShmLanes share: one Direction and one ring for each direction.
// docs/internals/shm.md lists which end writes which field. The peer may write any value anywhere at any time: read
// each value once, check it, and use the copy.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/cache_line.h"
#include "railweave/units.h"
#include "wire/wire.h"

namespace railweave::wire::shm {

inline constexpr std::size_t kRingBytes = 512 * KiB;  // bytes of one direction's ring; a power of two, whole pages
inline constexpr std::size_t kOffersMax = 64;         // outstanding offers of one direction
inline constexpr std::size_t kSecretBytes = 16;

// The start of a record in the ring. The frame's header follows, then inline payload, padded to kRecordAlign.
struct RecordStart {
  std::uint32_t payload_bytes = 0;
  std::uint32_t offered = 0;  // 0: inline. 1: offered; the n-th offer's address is in slot n mod kOffersMax
};
inline constexpr std::size_t kRecordAlign = 8;
inline constexpr std::size_t kRecordStartBytes = sizeof(RecordStart) + kHeaderBytes;
static_assert(kRecordStartBytes % kRecordAlign == 0);

// Values of a slot that are not addresses.
inline constexpr std::uint64_t kGone = 0;        // the writer's lane ended
inline constexpr std::uint64_t kCopyPlease = 1;  // the reader cannot read the address and needs a copy

// Bits of Direction::waits.
inline constexpr std::uint32_t kForInput = 1, kForRoom = 2;

// The policy by which the reader fetches large payload from the writer's memory.
enum class OneCopy {
  never,
  always,    // if the proof of access succeeds
  measured,  // as `always`, but only while a fetch costs less than two copies (base/copy_choice.h)
};

// The reader's choice, published to the writer.
enum class Fetching : std::uint32_t { no = 0, yes = 1 };

struct Direction {
  // --- written by the writer
  alignas(kCacheLineBytes) std::atomic<std::uint64_t> head;  // bytes put since the lane began
  std::atomic<std::uint32_t> finished;                       // 1: the writer puts no more
  // The address in the writer's private memory where the 16 random bytes of `secret` lie; 0: not published yet.
  alignas(kCacheLineBytes) std::atomic<std::uint64_t> secret_address;
  std::array<std::atomic<std::uint8_t>, kSecretBytes> secret;
  std::atomic<std::uint32_t> put_cost_ps;  // picoseconds per byte for copies into the ring; 0: not known

  // --- written by the reader
  alignas(kCacheLineBytes) std::atomic<std::uint64_t> tail;  // bytes whose room is free again, since the lane began
  std::atomic<std::uint64_t> fetched;                        // offers that the reader no longer needs, since then
  std::atomic<std::uint64_t> consumed_bytes;                 // headers and payload, since then
  std::atomic<Fetching> fetching;                            // yes: the reader can and wants to fetch

  // --- set by the writer's end before it sleeps: the events to be woken for. The reader's end clears and wakes
  alignas(kCacheLineBytes) std::atomic<std::uint32_t> waits;

  // --- written by both: the payload addresses of the outstanding offers
  alignas(kCacheLineBytes) std::array<std::atomic<std::uint64_t>, kOffersMax> slots;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<Fetching>::is_always_lock_free);

}  // namespace railweave::wire::shm

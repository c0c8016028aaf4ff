// An operation on the exchange: what a rank posts, whose contributions it needs, and how it computes its output
// (docs/internals/shm_exchange.md). No state. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "collectives/group/call.h"
#include "collectives/shared_memory/layout.h"
#include "railweave/units.h"

namespace railweave::collectives {

inline constexpr std::size_t kPostedMax = ShmSlot::kBytesMax;  // bytes posted by one rank
inline constexpr std::size_t kPostedByAllMax = 512 * KiB;  // bytes posted by all ranks: each may have to read them all

// A piece of what each rank posts: elements from `begin` on, at most `most`. Only all_gather and all_reduce have
// several pieces.
struct Part {
  std::size_t begin = 0, most = SIZE_MAX;
  bool streams = false;  // all_gather: the output is written past the caches
};

// Returns true if the call is small; every rank computes the same answer. REQUIRES: check(call) passed.
bool fits_exchange(const Call& call);
// Returns what this rank posts: a part of call.input.
std::span<const std::byte> to_post(const Call& call, const Part& part = {});
// Bytes that rank `from` posts.
std::size_t due_bytes(const Problem& problem, int from, const Part& part = {});
// Returns true if rank problem.rank needs the contribution of rank `from`.
bool needs(const Problem& problem, int from);
// Returns a 31-bit hash of the counts that must be equal on every rank. 0: counts may differ, or sizes show a
// difference.
std::uint32_t counts_hash(const Problem& problem);
// all_gather, gather: where rank `from`'s contribution goes in the output. Null for other operations.
std::byte* place_of(const Call& call, const Part& part, int from);
// Writes the output. posted[r]: what rank r posted, due_bytes(r) long; null if not needed, or already in its place.
void complete(const Call& call, const Part& part, std::span<const std::byte* const> posted);

}  // namespace railweave::collectives

// What a rank posts on the exchange for an operation, whose contributions it needs, and what it makes of them
// (docs/internals/shm_exchange.md). No state. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "collectives/group/call.h"
#include "collectives/shared_memory/layout.h"
#include "railweave/units.h"

namespace railweave::collectives {

inline constexpr std::size_t kPostedMax = ShmSlot::kBytesMax;  // by one rank
inline constexpr std::size_t kPostedByAllMax = 512 * KiB;      // every rank may have to read it all

// A piece of what each rank posts: elements from `begin` on, at most `most`. Only all_gather and all_reduce go in
// several pieces.
struct Part {
  std::size_t begin = 0, most = SIZE_MAX;
  bool streams = false;  // all_gather: the output goes past the caches
};

// Whether the call is small, as every rank of the operation finds alike. REQUIRES: checked.
bool fits_exchange(const Call& call);
// What this rank posts: a part of call.input.
std::span<const std::byte> to_post(const Call& call, const Part& part = {});
// How much rank `from` posts.
std::size_t due_bytes(const Problem& problem, int from, const Part& part = {});
bool needs(const Problem& problem, int from);
// A hash of the counts that every rank must have alike, one by one; 31 bits. 0: they need not be alike.
std::uint32_t counts_hash(const Problem& problem);
// Where in the output rank `from`'s contribution goes, of all_gather and gather; null: of others.
std::byte* place_of(const Call& call, const Part& part, int from);
// Writes the output. posted[r]: what rank r posted, due_bytes(r) long; null where it is not needed, or in its place.
void complete(const Call& call, const Part& part, std::span<const std::byte* const> posted);

}  // namespace railweave::collectives

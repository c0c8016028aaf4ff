// What a rank posts on the board for an operation, whose postings it needs, and what it makes of them (docs/board.md).
// No state. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "collectives/board/layout.h"
#include "collectives/call.h"
#include "railweave/units.h"

namespace railweave::collectives {

inline constexpr std::size_t kPostedMax = BoardSlot::kBytesMax;  // by one rank
inline constexpr std::size_t kPostedByAllMax = 512 * KiB;        // every rank may have to read it all

// Whether the call is small, as every rank of the operation finds alike. REQUIRES: checked.
bool fits_board(const Call& call);
// What this rank posts: a part of call.input.
std::span<const std::byte> to_post(const Call& call);
// How much rank `from` posts.
std::size_t due_bytes(const Problem& problem, int from);
bool needs(const Problem& problem, int from);
// Of counts that every rank must have alike, one by one; 31 bits. 0: they need not be.
std::uint32_t counts_hash(const Problem& problem);
// Writes the output. posted[r]: what rank r posted, due_bytes(r) long; null where it is not needed.
void complete(const Call& call, std::span<const std::byte* const> posted);

}  // namespace railweave::collectives

// Cuts a large operation into several operations of the exchange, one after another, each of a part of what every rank
// posts (docs/internals/shm_exchange.md). No state. Threads: any.
#pragma once

#include <cstddef>

#include "collectives/group/call.h"
#include "collectives/shared_memory/contribution.h"

namespace railweave::collectives {

// Ranks of a group that uses pieces, at most. Every rank copies and reduces everything; with more ranks a share each,
// over streams, is less work.
inline constexpr int kPiecesRanksMax = 4;

// Number of pieces, the same on every rank. 1: a small operation; 0: the exchange does not take the call. REQUIRES:
// check(call) passed.
std::size_t pieces(const Call& call);
// Returns the piece of that index. REQUIRES: pieces(call) > 1.
Part piece(const Call& call, std::size_t index);
// Returns true if it may be faster to let other ranks read this rank's input where it lies than to copy it for them.
bool may_be_offered(const Call& call);

}  // namespace railweave::collectives

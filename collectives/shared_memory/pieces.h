// A large operation on the exchange as several, one after another, of a part of what each rank posts
// (docs/internals/shm_exchange.md). No state. Threads: any.
#pragma once

#include <cstddef>

#include "collectives/group/call.h"
#include "collectives/shared_memory/contribution.h"

namespace railweave::collectives {

// Every rank copies, and reduces, everything: beyond so many a share each, over streams, is less work.
inline constexpr int kPiecesRanksMax = 4;

// How many the call is, as every rank finds alike: 1 for a small one; 0 where the exchange is not for it. REQUIRES:
// checked.
std::size_t pieces(const Call& call);
// The one of that index. REQUIRES: pieces(call) are several.
Part piece(const Call& call, std::size_t index);
// Whether it may be better to let the others read this rank's input where it is than to copy it for them.
bool may_be_offered(const Call& call);

}  // namespace railweave::collectives

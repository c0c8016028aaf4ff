// The copy for memory that somebody reads while it is written (NCCL's LL and LL128 protocols).
#pragma once

#include <cstddef>

namespace railweave {

// Copies `n` bytes so that a reader who sees a byte also sees every byte before it: stores go in strictly ascending
// address order, in naturally aligned words of 8 bytes and single bytes before and after. memcpy promises nothing of
// the kind. The ranges must not overlap. Any thread.
void ascending_copy(std::byte* to, const std::byte* from, std::size_t n);

}  // namespace railweave

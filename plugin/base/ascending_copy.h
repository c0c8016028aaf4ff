// A copy into memory that another thread or device reads at the same time (NCCL's LL and LL128 protocols).
#pragma once

#include <cstddef>

namespace railweave {

// Copies `n` bytes so that a reader that sees a byte also sees every byte before it. The stores are in strictly
// ascending address order: naturally aligned words of 8 bytes, with single bytes before and after. memcpy gives no such
// guarantee. REQUIRES: the ranges do not overlap. Threads: any.
void ascending_copy(std::byte* to, const std::byte* from, std::size_t n);

}  // namespace railweave

// Copies to memory that is not read soon: cache lines are written past the caches, without being fetched first.
#pragma once

#include <cstddef>

namespace railweave::collectives {

// Copies like memcpy; the ranges must not overlap. A thread that sees a later release of this thread also sees the
// data. Any thread.
void streaming_copy(void* to, const void* from, std::size_t bytes);

}  // namespace railweave::collectives

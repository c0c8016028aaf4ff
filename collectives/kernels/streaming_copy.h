// The copy for memory that nobody reads soon: its lines are written without being fetched first, past the caches.
#pragma once

#include <cstddef>

namespace railweave::collectives {

// As memcpy, the ranges do not overlap. What was written is visible to whoever sees a later release. Any thread.
void streaming_copy(void* to, const void* from, std::size_t bytes);

}  // namespace railweave::collectives

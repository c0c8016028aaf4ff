// Counts what a thread asks of the allocator and of mutexes. Its executable's operator new and pthread_mutex_lock() are
// replaced.
#pragma once

#include <cstdint>

namespace railweave::engine_test {

// Counts calls of the thread that makes it, while it lives. One at a time on a thread.
class CountedCalls {
 public:
  CountedCalls();
  ~CountedCalls();
  std::uint64_t allocations() const;
  std::uint64_t locks() const;  // pthread_mutex_lock() and pthread_mutex_trylock(), which std::mutex calls
};

// For operator new: another allocation of this thread.
void count_allocation();

}  // namespace railweave::engine_test

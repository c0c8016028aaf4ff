// Counts a thread's allocations and mutex locks. An executable that links this replaces operator new (shortage.cc) and
// pthread_mutex_lock().
#pragma once

#include <cstdint>

namespace railweave::engine_test {

// Counts the calls of the thread that constructs it, until destruction. A thread has at most one at a time.
class CountedCalls {
 public:
  CountedCalls();
  ~CountedCalls();
  std::uint64_t allocations() const;
  std::uint64_t locks() const;  // pthread_mutex_lock() and pthread_mutex_trylock(), which std::mutex calls
};

// Called by operator new: counts one allocation of the calling thread.
void count_allocation();

}  // namespace railweave::engine_test

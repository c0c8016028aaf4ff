// A mutex that is handed on in the order in which it was asked for: who asks again at once keeps nobody out.
// For holders that wait; where they do not, a Mutex is cheaper. Threads: any.
#pragma once

#include <cstdint>

#include "base/mutex.h"

namespace railweave::collectives {

class RW_CAPABILITY("mutex") FairMutex {
 public:
  void lock() RW_ACQUIRE() {
    MutexLock inner(inner_);
    const std::uint64_t ticket = next_++;
    handed_on_.wait(inner_, [&]() RW_REQUIRES(inner_) { return serving_ == ticket; });
  }
  // False also while somebody else waits for it.
  bool try_lock() RW_TRY_ACQUIRE(true) {
    const MutexLock inner(inner_);
    if (next_ != serving_) return false;
    ++next_;
    return true;
  }
  void unlock() RW_RELEASE() {
    const MutexLock inner(inner_);
    ++serving_;
    handed_on_.notify_all();
  }

 private:
  Mutex inner_;
  ConditionVariable handed_on_;
  // Tickets; free where they are equal.
  std::uint64_t next_ RW_GUARDED_BY(inner_) = 0, serving_ RW_GUARDED_BY(inner_) = 0;
};

}  // namespace railweave::collectives

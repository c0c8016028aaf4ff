// A mutex granted in the order of the lock() calls: a thread that locks again at once starves no other thread.
// FairMutex is for holders that block while they hold it; for short sections a Mutex is cheaper.
// Threads: any.
#pragma once

#include <cstdint>

#include "base/mutex.h"

namespace railweave::collectives {

class RW_CAPABILITY("mutex") FairMutex {
 public:
  void lock() RW_ACQUIRE() {
    MutexLock inner(inner_);
    const std::uint64_t turn = next_++;
    handed_on_.wait(inner_, [&]() RW_REQUIRES(inner_) { return serving_ == turn; });
  }
  // Returns false if the mutex is held or another thread waits for it.
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
  // Queue numbers: the next to draw, and the one now served. The mutex is free while both are equal.
  std::uint64_t next_ RW_GUARDED_BY(inner_) = 0, serving_ RW_GUARDED_BY(inner_) = 0;
};

}  // namespace railweave::collectives

// Mutexes that clang's thread-safety analysis follows: a field names its mutex (RW_GUARDED_BY), a function names the
// mutex its caller holds (RW_REQUIRES), and clang refuses code that breaks either. g++ compiles the same code without
// the macros.
//
// Cost: that of std::mutex, std::unique_lock and std::condition_variable. Threads: any. Errors: none; misuse (a second
// lock() by one thread, an unlock() without a lock()) is undefined, as in std. After fork: a mutex that another thread
// held stays locked in the child.
//
// The analysis skips constructors and destructors, and looks at each lambda as at a function of its own: a condition
// that reads guarded fields is written `[&]() RW_REQUIRES(mutex_) { return ready_; }`.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "base/clock.h"
#include "railweave/units.h"

#if defined(__clang__)
#define RW_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define RW_THREAD_ATTRIBUTE(x)
#endif

// --- classes
// objects can be held; `name` stands in clang's errors
#define RW_CAPABILITY(name) RW_THREAD_ATTRIBUTE(capability(name))
#define RW_SCOPED_CAPABILITY RW_THREAD_ATTRIBUTE(scoped_lockable)  // objects hold something until they are destroyed
// --- fields
#define RW_GUARDED_BY(x) RW_THREAD_ATTRIBUTE(guarded_by(x))        // is read and written under x only
#define RW_PT_GUARDED_BY(x) RW_THREAD_ATTRIBUTE(pt_guarded_by(x))  // what the pointer points to is
// --- functions; without an argument `this` is meant
#define RW_REQUIRES(...) RW_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))  // callers hold it
#define RW_EXCLUDES(...) RW_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))       // callers do not hold it
#define RW_ACQUIRE(...) RW_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define RW_RELEASE(...) RW_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
// first argument: what success returns
#define RW_TRY_ACQUIRE(...) RW_THREAD_ATTRIBUTE(try_acquire_capability(__VA_ARGS__))
#define RW_RETURN_CAPABILITY(x) RW_THREAD_ATTRIBUTE(lock_returned(x))  // returns a reference to x
// it is held, says who cannot prove it
#define RW_ASSERT_CAPABILITY(...) RW_THREAD_ATTRIBUTE(assert_capability(__VA_ARGS__))
#define RW_NO_THREAD_SAFETY_ANALYSIS RW_THREAD_ATTRIBUTE(no_thread_safety_analysis)  // a comment there says why

namespace railweave {

class RW_CAPABILITY("mutex") Mutex {
 public:
  constexpr Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() RW_ACQUIRE() { inner_.lock(); }
  void unlock() RW_RELEASE() { inner_.unlock(); }
  // False: another thread holds the mutex.
  bool try_lock() RW_TRY_ACQUIRE(true) { return inner_.try_lock(); }
  // Locks nothing: tells the analysis that this thread holds the mutex, where a caller that clang cannot see took it.
  void assert_held() const RW_ASSERT_CAPABILITY() {}

 private:
  friend class ConditionVariable;
  std::mutex inner_;
};
static_assert(sizeof(Mutex) == sizeof(std::mutex));

// One thread may lock it several times, and unlocks it as often.
class RW_CAPABILITY("mutex") RecursiveMutex {
 public:
  void lock() RW_ACQUIRE() { inner_.lock(); }
  void unlock() RW_RELEASE() { inner_.unlock(); }

 private:
  std::recursive_mutex inner_;
};

// Holds a mutex until the end of its scope, but for the time between unlock() and lock(). One thread.
template <class Lockable>
class RW_SCOPED_CAPABILITY ScopedLock {
 public:
  explicit ScopedLock(Lockable& mutex) RW_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  // After a try_lock() that succeeded.
  ScopedLock(Lockable& mutex, std::adopt_lock_t) RW_REQUIRES(mutex) : mutex_(mutex) {}
  ~ScopedLock() RW_RELEASE() {
    if (held_) mutex_.unlock();
  }
  ScopedLock(const ScopedLock&) = delete;
  ScopedLock& operator=(const ScopedLock&) = delete;

  // REQUIRES: it is held.
  void unlock() RW_RELEASE() {
    held_ = false;
    mutex_.unlock();
  }
  // REQUIRES: unlock() was called.
  void lock() RW_ACQUIRE() {
    mutex_.lock();
    held_ = true;
  }

 private:
  Lockable& mutex_;
  bool held_ = true;
};

using MutexLock = ScopedLock<Mutex>;

// Where threads wait for what another thread changes under a mutex. All waiters of one object name the same mutex.
// A wait releases the mutex, sleeps, and holds the mutex again when it returns. The mutex is also held in `condition`.
class ConditionVariable {
 public:
  // May return without a notification.
  void wait(Mutex& mutex) RW_REQUIRES(mutex) {
    std::unique_lock inner(mutex.inner_, std::adopt_lock);
    inner_.wait(inner);
    (void)inner.release();  // the caller's, as before
  }
  // Waits as wait() does, and also returns after `patience` (CLOCK_MONOTONIC), or after a day.
  void wait_for(Mutex& mutex, Nanos patience) RW_REQUIRES(mutex) {
    std::unique_lock inner(mutex.inner_, std::adopt_lock);
    // a sum with the time now must not overflow
    (void)inner_.wait_for(inner, std::min<Nanos>(patience, std::chrono::hours(24)));
    (void)inner.release();
  }

  // Until `condition` holds. The analysis checks the condition where it is written, and cannot match its mutex with
  // `mutex` here.
  template <class Condition>
  void wait(Mutex& mutex, Condition condition) RW_REQUIRES(mutex) RW_NO_THREAD_SAFETY_ANALYSIS {
    while (!condition()) wait(mutex);
  }
  // Until `condition` holds, or `patience` (CLOCK_MONOTONIC) is over: what the condition said last.
  template <class Condition>
  bool wait_for(Mutex& mutex, Nanos patience, Condition condition) RW_REQUIRES(mutex) RW_NO_THREAD_SAFETY_ANALYSIS {
    const TimePoint deadline = deadline_after(patience);
    while (!condition()) {
      const TimePoint t = now();
      if (t >= deadline) return false;
      wait_for(mutex, deadline - t);
    }
    return true;
  }

  void notify_one() { inner_.notify_one(); }
  void notify_all() { inner_.notify_all(); }

 private:
  std::condition_variable inner_;
};

}  // namespace railweave

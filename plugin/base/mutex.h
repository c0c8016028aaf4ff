// Mutexes that clang's thread-safety analysis follows: a field names its mutex (RW_GUARDED_BY), and a function names
// the mutex that its caller holds (RW_REQUIRES). clang rejects code that breaks either rule. For g++ the macros are
// empty.
//
// Cost: as std::mutex, std::unique_lock and std::condition_variable. Threads: any. Errors: none; misuse (a second
// lock() by one thread, an unlock() without a lock()) is undefined, as in std.
// Fork: a mutex that another thread held at the fork stays locked in the child.
//
// The analysis skips constructors and destructors, and checks each lambda as a function of its own. So a condition that
// reads guarded fields is written `[&]() RW_REQUIRES(mutex_) { return ready_; }`.
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
// objects can be held; clang's errors print `name`
#define RW_CAPABILITY(name) RW_THREAD_ATTRIBUTE(capability(name))
#define RW_SCOPED_CAPABILITY RW_THREAD_ATTRIBUTE(scoped_lockable)  // objects hold a mutex until their destruction
// --- fields
#define RW_GUARDED_BY(x) RW_THREAD_ATTRIBUTE(guarded_by(x))        // the field is read and written under x only
#define RW_PT_GUARDED_BY(x) RW_THREAD_ATTRIBUTE(pt_guarded_by(x))  // the pointee is read and written under x only
// --- functions; without an argument the mutex is `this`
#define RW_REQUIRES(...) RW_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))  // callers hold the mutex
#define RW_EXCLUDES(...) RW_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))       // callers do not hold the mutex
#define RW_ACQUIRE(...) RW_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define RW_RELEASE(...) RW_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
// first argument: the value that the function returns on success
#define RW_TRY_ACQUIRE(...) RW_THREAD_ATTRIBUTE(try_acquire_capability(__VA_ARGS__))
#define RW_RETURN_CAPABILITY(x) RW_THREAD_ATTRIBUTE(lock_returned(x))  // returns a reference to x
// the analysis takes the mutex for held after the call
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
  // Locks nothing. Asserts to the analysis that this thread holds the mutex, where a caller that clang cannot see
  // locked the mutex.
  void assert_held() const RW_ASSERT_CAPABILITY() {}

 private:
  friend class ConditionVariable;
  std::mutex inner_;
};
static_assert(sizeof(Mutex) == sizeof(std::mutex));

// A mutex that one thread may lock several times, and unlocks as often.
class RW_CAPABILITY("mutex") RecursiveMutex {
 public:
  void lock() RW_ACQUIRE() { inner_.lock(); }
  void unlock() RW_RELEASE() { inner_.unlock(); }

 private:
  std::recursive_mutex inner_;
};

// Holds a mutex until the end of the scope, except between unlock() and lock(). Threads: one.
template <class Lockable>
class RW_SCOPED_CAPABILITY ScopedLock {
 public:
  explicit ScopedLock(Lockable& mutex) RW_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  // Adopts a mutex that a successful try_lock() locked.
  ScopedLock(Lockable& mutex, std::adopt_lock_t) RW_REQUIRES(mutex) : mutex_(mutex) {}
  ~ScopedLock() RW_RELEASE() {
    if (held_) mutex_.unlock();
  }
  ScopedLock(const ScopedLock&) = delete;
  ScopedLock& operator=(const ScopedLock&) = delete;

  // REQUIRES: the mutex is held.
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

// Lets threads wait for a change that another thread makes under a mutex. All waiters of one object pass the same
// mutex. A wait releases the mutex, sleeps, and holds the mutex again when it returns. `condition` runs with the mutex
// held.
class ConditionVariable {
 public:
  // May return without a notification.
  void wait(Mutex& mutex) RW_REQUIRES(mutex) {
    std::unique_lock inner(mutex.inner_, std::adopt_lock);
    inner_.wait(inner);
    (void)inner.release();  // the caller keeps the mutex
  }
  // Waits as wait(), but returns after `patience` at the latest (CLOCK_MONOTONIC; at most one day).
  void wait_for(Mutex& mutex, Nanos patience) RW_REQUIRES(mutex) {
    std::unique_lock inner(mutex.inner_, std::adopt_lock);
    // at most a day: the sum with the present time must not overflow
    (void)inner_.wait_for(inner, std::min<Nanos>(patience, std::chrono::hours(24)));
    (void)inner.release();
  }

  // Waits until `condition` holds. The analysis is off, because it cannot match the mutex of the condition with `mutex`
  // here; it checks the condition where the condition is written.
  template <class Condition>
  void wait(Mutex& mutex, Condition condition) RW_REQUIRES(mutex) RW_NO_THREAD_SAFETY_ANALYSIS {
    while (!condition()) wait(mutex);
  }
  // Waits until `condition` holds, at most `patience` (CLOCK_MONOTONIC). Returns the condition's last value.
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

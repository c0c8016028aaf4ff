// Code that clang must reject: CMakeLists.txt compiles one MISUSE at a time and compares clang's error. MISUSE 0 is
// correct.
#include <utility>

#include "base/mutex.h"

namespace railweave {
namespace {

class Account {
 public:
  void pay(int amount) RW_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    add(amount);
  }
  bool try_pay(int amount) {
    if (!mutex_.try_lock()) return false;
    const MutexLock lock(mutex_, std::adopt_lock);
    add(amount);
    return true;
  }
  void await_money() {
    MutexLock lock(mutex_);
    paid_.wait(mutex_, [this]() RW_REQUIRES(mutex_) { return balance_ > 0; });
    lock.unlock();
    lock.lock();
    --balance_;
  }
  Mutex& mutex() RW_RETURN_CAPABILITY(mutex_) { return mutex_; }
  int balance() RW_REQUIRES(mutex_) { return balance_; }

#if MISUSE == 1
  int read_without() const { return balance_; }
#elif MISUSE == 2
  void call_without() { add(1); }
#elif MISUSE == 3
  void read_after_unlock() {
    MutexLock lock(mutex_);
    lock.unlock();
    ++balance_;
  }
#elif MISUSE == 4
  void never_unlocks() { mutex_.lock(); }
#elif MISUSE == 5
  void ignores_try_lock() {
    mutex_.try_lock();
    ++balance_;
    mutex_.unlock();
  }
#elif MISUSE == 6
  void locks_twice() {
    const MutexLock lock(mutex_);
    pay(1);
  }
#elif MISUSE == 7
  void condition_says_nothing() {
    const MutexLock lock(mutex_);
    paid_.wait(mutex_, [this] { return balance_ > 0; });
  }
#elif MISUSE == 8
  void waits_without() {
    while (true) paid_.wait(mutex_);
  }
#endif

 private:
  void add(int amount) RW_REQUIRES(mutex_) {
    balance_ += amount;
    paid_.notify_all();
  }

  Mutex mutex_;
  ConditionVariable paid_;
  int balance_ RW_GUARDED_BY(mutex_) = 0;
};

}  // namespace

int use_account();
int use_account() {
  Account account;
  account.pay(1);
  if (!account.try_pay(1)) return 0;
  account.await_money();
#if MISUSE == 9
  return account.balance();
#else
  const MutexLock lock(account.mutex());
  return account.balance();
#endif
}

}  // namespace railweave

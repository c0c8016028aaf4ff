#include "base/mutex.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace railweave {
namespace {

constexpr Nanos kEnough = std::chrono::seconds(60);

struct Shared {
  Mutex mutex;
  ConditionVariable changed;
  int value RW_GUARDED_BY(mutex) = 0;
};

bool others_can_lock(Mutex& mutex) {
  bool could = false;
  std::thread other([&] {
    if (!mutex.try_lock()) return;
    could = true;
    mutex.unlock();
  });
  other.join();
  return could;
}

TEST(MutexLock, holds_the_mutex_for_its_scope) {
  Mutex mutex;
  {
    const MutexLock lock(mutex);
    EXPECT_FALSE(others_can_lock(mutex));
  }
  EXPECT_TRUE(others_can_lock(mutex));
}

TEST(MutexLock, unlock__releases_the_mutex_until_lock) {
  Mutex mutex;
  {
    MutexLock lock(mutex);
    lock.unlock();
    EXPECT_TRUE(others_can_lock(mutex));
    lock.lock();
    EXPECT_FALSE(others_can_lock(mutex));
  }
  EXPECT_TRUE(others_can_lock(mutex));
  {
    MutexLock lock(mutex);
    lock.unlock();
  }
  EXPECT_TRUE(others_can_lock(mutex));
}

TEST(MutexLock, adopts_what_try_lock_took) {
  Mutex mutex;
  if (!mutex.try_lock()) FAIL() << "nobody else has it";
  {
    const MutexLock lock(mutex, std::adopt_lock);
    EXPECT_FALSE(others_can_lock(mutex));
  }
  EXPECT_TRUE(others_can_lock(mutex));
}

TEST(ConditionVariable, wait__returns_with_the_mutex_once_the_condition_holds) {
  Shared shared;
  std::thread writer([&] {
    for (int i = 0; i < 3; ++i) {
      {
        const MutexLock lock(shared.mutex);
        ++shared.value;
      }
      shared.changed.notify_one();
    }
  });
  {
    const MutexLock lock(shared.mutex);
    shared.changed.wait(shared.mutex, [&]() RW_REQUIRES(shared.mutex) { return shared.value == 3; });
    EXPECT_EQ(shared.value, 3);
    EXPECT_FALSE(others_can_lock(shared.mutex));
  }
  EXPECT_TRUE(others_can_lock(shared.mutex));
  writer.join();
}

TEST(ConditionVariable, wait_for__waits_no_longer_than_its_time) {
  Shared shared;
  const MutexLock lock(shared.mutex);
  const auto never = [&]() RW_REQUIRES(shared.mutex) { return shared.value != 0; };
  const TimePoint start = now();
  EXPECT_FALSE(shared.changed.wait_for(shared.mutex, std::chrono::milliseconds(5), never));
  EXPECT_GE(now() - start, std::chrono::milliseconds(5));
  EXPECT_FALSE(shared.changed.wait_for(shared.mutex, Nanos(0), never));
  EXPECT_FALSE(shared.changed.wait_for(shared.mutex, Nanos(-1), never));
  EXPECT_FALSE(others_can_lock(shared.mutex));
}

TEST(ConditionVariable, wait_for__returns_early_once_the_condition_holds) {
  Shared shared;
  std::thread writer([&] {
    const MutexLock lock(shared.mutex);
    shared.value = 1;
    shared.changed.notify_all();
  });
  const MutexLock lock(shared.mutex);
  const auto written = [&]() RW_REQUIRES(shared.mutex) { return shared.value == 1; };
  EXPECT_TRUE(shared.changed.wait_for(shared.mutex, kEnough, written));
  EXPECT_TRUE(shared.changed.wait_for(shared.mutex, Nanos(0), written));  // the condition holds already
  writer.join();
}

TEST(ConditionVariable, wait_for__takes_the_longest_time) {
  Shared shared;
  std::thread writer([&] {
    const MutexLock lock(shared.mutex);
    shared.value = 1;
    shared.changed.notify_all();
  });
  const MutexLock lock(shared.mutex);
  EXPECT_TRUE(shared.changed.wait_for(shared.mutex, Nanos::max(),
                                      [&]() RW_REQUIRES(shared.mutex) { return shared.value == 1; }));
  writer.join();
}

TEST(RecursiveMutex, one_thread_locks_it_several_times) {
  RecursiveMutex mutex;
  int depth = 0;
  const auto inner = [&] {
    const ScopedLock<RecursiveMutex> lock(mutex);
    ++depth;
  };
  const ScopedLock<RecursiveMutex> lock(mutex);
  inner();
  EXPECT_EQ(depth, 1);
}

}  // namespace
}  // namespace railweave

#include "torch_ext/csrc/completions.h"

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "base/process_origin.h"
#include "base/service_thread.h"

namespace railweave::torch_ext {
namespace {

constexpr auto kIdleMost = std::chrono::seconds(5);
constexpr auto kAwaitMost = std::chrono::seconds(5);

// Never destroyed, because its threads are detached. A forked child, which does not have the threads, makes another.
struct Pool {
  const ProcessOrigin origin;
  Mutex mutex;
  ConditionVariable came, ended;
  std::deque<std::function<void()>> tasks RW_GUARDED_BY(mutex);
  int idle RW_GUARDED_BY(mutex) = 0, running RW_GUARDED_BY(mutex) = 0;

  void run();
};

Pool& pool() {
  static std::atomic<Pool*> latest{nullptr};
  Pool* there = latest.load(std::memory_order_acquire);
  while (there == nullptr || there->origin.in_child()) {
    auto fresh = std::make_unique<Pool>();
    if (latest.compare_exchange_strong(there, fresh.get(), std::memory_order_acq_rel)) return *fresh.release();
  }
  return *there;
}

void Pool::run() {
  MutexLock lock(mutex);
  for (;;) {
    ++idle;
    const bool some = came.wait_for(mutex, kIdleMost, [this]() RW_REQUIRES(mutex) { return !tasks.empty(); });
    --idle;
    if (!some) return;
    {
      const auto task = std::move(tasks.front());
      tasks.pop_front();
      ++running;
      lock.unlock();
      task();
    }
    lock.lock();
    --running;
    ended.notify_all();
  }
}

}  // namespace

void run_on_future_thread(std::function<void()> task) {
  Pool& all = pool();
  {
    const MutexLock lock(all.mutex);
    bool taken = all.idle > int(all.tasks.size());
    if (!taken) {
      std::thread another;
      taken = start_service_thread(another, "railweave-then", [&all] { all.run(); }).ok();
      if (another.joinable()) another.detach();
    }
    if (taken) {
      all.tasks.push_back(std::move(task));
      all.came.notify_one();
      return;
    }
  }
  task();
}

void await_future_threads() {
  Pool& all = pool();
  const MutexLock lock(all.mutex);
  all.ended.wait_for(all.mutex, kAwaitMost,
                     [&]() RW_REQUIRES(all.mutex) { return all.tasks.empty() && all.running == 0; });
}

}  // namespace railweave::torch_ext

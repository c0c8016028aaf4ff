#include "torch_ext/completions.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "base/birthplace.h"
#include "collectives/quiet_thread.h"

namespace railweave::torch_ext {
namespace {

constexpr auto kIdleMost = std::chrono::seconds(5);
constexpr auto kAwaitMost = std::chrono::seconds(5);

// Never destroyed: its threads are nobody's, and a forked child, where they are not, makes another.
struct Pool {
  const Birthplace birthplace;
  std::mutex mutex;
  std::condition_variable came, ended;
  std::deque<std::function<void()>> tasks;  // guarded by mutex, as are
  int idle = 0, running = 0;

  void run();
};

Pool& pool() {
  static std::atomic<Pool*> latest{nullptr};
  Pool* there = latest.load(std::memory_order_acquire);
  while (there == nullptr || there->birthplace.left()) {
    auto fresh = std::make_unique<Pool>();
    if (latest.compare_exchange_strong(there, fresh.get(), std::memory_order_acq_rel)) return *fresh.release();
  }
  return *there;
}

void Pool::run() {
  std::unique_lock lock(mutex);
  for (;;) {
    ++idle;
    const bool some = came.wait_for(lock, kIdleMost, [this] { return !tasks.empty(); });
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

void run_apart(std::function<void()> task) {
  Pool& all = pool();
  {
    const std::lock_guard lock(all.mutex);
    bool taken = all.idle > int(all.tasks.size());
    if (!taken) {
      std::thread another;
      taken = collectives::start_quietly(another, "railweave-then", [&all] { all.run(); }).ok();
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

void await_apart() {
  Pool& all = pool();
  std::unique_lock lock(all.mutex);
  all.ended.wait_for(lock, kAwaitMost, [&] { return all.tasks.empty() && all.running == 0; });
}

}  // namespace railweave::torch_ext

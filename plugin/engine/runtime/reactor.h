// The engine's own thread: runs handshakes, accepts, timers, and the progress of sessions whose callers do not poll.
//
// Threads: run_soon() and wake_for() from any thread; start() and stop() on the owner's thread; everything else on the
// reactor's thread, or on any one thread while the reactor does not run.
// Errors: an exception that leaves a callback is logged and dropped.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/fd.h"
#include "base/mutex.h"
#include "base/ready_set.h"
#include "engine/runtime/timers.h"
#include "railweave/status.h"
#include "railweave/units.h"

namespace railweave::engine {

// Called by the reactor, on its thread, when a descriptor is ready. Lifetime: the object outlives its registration.
class Pollable {
 public:
  virtual void on_ready(std::uint32_t events) = 0;  // EPOLLIN, EPOLLOUT, EPOLLERR, EPOLLHUP

 protected:
  ~Pollable() = default;
};

// An object that any thread can have the reactor call without memory and without a lock.
class Wakeable : private ReadyNode {
 public:
  // Runs on the reactor's thread, soon after wake_for(); once for all calls of wake_for() before.
  virtual void on_wake() = 0;

 protected:
  virtual ~Wakeable() = default;

 private:
  friend class Reactor;
  std::shared_ptr<Wakeable> keep_;  // this object, while the reactor's queue has it; else null
};

class Reactor final : public Timers {
 public:
  Reactor() = default;
  ~Reactor();  // stop()

  // Errors: exhausted (threads), system (descriptors). Nothing is left open then.
  Status start();
  // Ends the thread after the tasks queued so far. Idempotent. No callback runs after return. REQUIRES: the caller is
  // not on the reactor's thread.
  void stop();

  // Runs `task` on the reactor's thread, in order. Tasks queued after stop() never run. Errors: std::bad_alloc.
  void run_soon(std::function<void()> task);
  // Has on_wake() called. Neither allocates nor locks. Writes to an eventfd unless `wakeable` is queued already. No
  // effect after stop().
  void wake_for(std::shared_ptr<Wakeable> wakeable) noexcept;
  bool running() const { return thread_.joinable(); }

  // One-shot: after on_ready() the descriptor is disarmed until arm(). `events`: EPOLLIN, EPOLLOUT. Errors: system
  // (memory, or the host's limit of watches).
  Status add(int fd, Pollable& pollable, std::uint32_t events);
  void arm(int fd, Pollable& pollable, std::uint32_t events);
  // No effect if `fd` is registered for another pollable by now.
  void remove(int fd, const Pollable& pollable);
  // As remove(), for a descriptor that may be closed already: the kernel then drops its own registration. False: `fd`
  // was not registered for `pollable`.
  bool forget(int fd, const Pollable& pollable);

  // `when`: by the reactor's clock, base's now().
  TimerId at(TimePoint when, std::function<void()> task) override;
  void cancel(TimerId timer) override;

 private:
  struct Timer {
    TimePoint when;
    TimerId id;
    friend auto operator<=>(const Timer&, const Timer&) = default;
  };

  Status open();
  void close();
  void loop();
  int timeout_ms() const;
  bool is_mine() const {
    const std::thread::id id = thread_id_.load(std::memory_order_relaxed);
    return id == std::thread::id() || id == std::this_thread::get_id();
  }
  void wake();
  void run_woken();
  void drop_woken();
  void run_tasks();
  void drop_tasks();
  void run_timers();

  OwnedFd epoll_, wake_;
  std::thread thread_;
  std::atomic<std::thread::id> thread_id_{};  // none: the thread does not run, and any thread may do its work
  std::atomic<bool> stopping_{false};

  std::atomic<bool> stopped_{false};  // the thread has ended: wake_for() itself empties woken_
  ReadySet woken_;                    // Wakeables whose on_wake() is due

  Mutex mutex_;
  std::vector<std::function<void()>> tasks_ RW_GUARDED_BY(mutex_);

  std::set<Timer> timers_;
  struct TimerTask {
    TimePoint when;
    std::function<void()> run;
  };
  std::unordered_map<TimerId, TimerTask> timer_tasks_;
  TimerId next_timer_ = 1;
  std::unordered_map<int, Pollable*> polled_;  // by descriptor; a stale event finds no entry
};

}  // namespace railweave::engine

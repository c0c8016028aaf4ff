// The engine's own thread: handshakes, accepts, timers, and the progress of sessions whose callers do not poll.
//
// Threads: run_soon() and wake_for() from any thread; everything else on the reactor's thread only (or before start()).
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

// What the reactor calls on its thread. The object outlives its registration.
class Pollable {
 public:
  virtual void on_ready(std::uint32_t events) = 0;  // EPOLLIN, EPOLLOUT, EPOLLERR, EPOLLHUP

 protected:
  ~Pollable() = default;
};

// What has the reactor look without memory and without a lock.
class Wakeable : private ReadyNode {
 public:
  // Reactor's thread, soon after wake_for(); once for all that came before it.
  virtual void on_wake() = 0;

 protected:
  virtual ~Wakeable() = default;

 private:
  friend class Reactor;
  std::shared_ptr<Wakeable> keep_;  // itself, while the reactor has it
};

class Reactor final : public Timers {
 public:
  Reactor() = default;
  ~Reactor();  // stop()

  // Errors: exhausted (no thread to be had), system (no descriptors). Nothing is left behind then.
  Status start();
  // Ends the thread after the tasks queued so far; idempotent. No callback runs afterwards.
  void stop();

  // Runs `task` on the reactor's thread, in order.
  void run_soon(std::function<void()> task);
  // Has on_wake() called. Neither allocates nor locks; writes to a descriptor unless the reactor has been told already.
  // After stop() it does nothing.
  void wake_for(std::shared_ptr<Wakeable> wakeable) noexcept;
  bool running() const { return thread_.joinable(); }

  // One-shot: after on_ready() the descriptor is silent until arm()ed again.
  Status add(int fd, Pollable& pollable, std::uint32_t events);
  void arm(int fd, Pollable& pollable, std::uint32_t events);
  // No effect when another pollable has taken the number over.
  void remove(int fd, const Pollable& pollable);
  // The same for a descriptor that somebody may have closed: the kernel forgets those by itself. False: it was not his.
  bool forget(int fd, const Pollable& pollable);

  // `when` is by the reactor's clock: base's now().
  TimerId at(TimePoint when, std::function<void()> task) override;
  void cancel(TimerId timer) override;

 private:
  struct Timer {
    TimePoint when;
    TimerId id;
    friend auto operator<=>(const Timer&, const Timer&) = default;
  };

  Status open();
  Status start_thread();
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
  std::atomic<std::thread::id> thread_id_{};  // none: it does not run, and any thread may do what is its
  std::atomic<bool> stopping_{false};

  std::atomic<bool> stopped_{false};  // nobody empties woken_ any more but wake_for()
  ReadySet woken_;                    // Wakeables

  Mutex mutex_;
  std::vector<std::function<void()>> tasks_ RW_GUARDED_BY(mutex_);

  std::set<Timer> timers_;
  struct TimerTask {
    TimePoint when;
    std::function<void()> run;
  };
  std::unordered_map<TimerId, TimerTask> timer_tasks_;
  TimerId next_timer_ = 1;
  std::unordered_map<int, Pollable*> polled_;  // a stale event finds nobody here
};

}  // namespace railweave::engine

// The engine's own thread: handshakes, accepts, timers, and the progress of sessions whose callers do not poll.
//
// Threads: run_soon() and wake() from any thread; everything else on the reactor's thread only (or before start()).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/fd.h"
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

class Reactor {
 public:
  Reactor() = default;
  ~Reactor();  // stop()

  // Errors: exhausted (no thread to be had), system (no descriptors). Nothing is left behind then.
  Status start();
  // Ends the thread after the tasks queued so far; idempotent. No callback runs afterwards.
  void stop();

  // Runs `task` on the reactor's thread, in order.
  void run_soon(std::function<void()> task);
  void wake();
  bool running() const { return thread_.joinable(); }

  // One-shot: after on_ready() the descriptor is silent until arm()ed again.
  Status add(int fd, Pollable& pollable, std::uint32_t events);
  void arm(int fd, Pollable& pollable, std::uint32_t events);
  // No effect when another pollable has taken the number over.
  void remove(int fd, const Pollable& pollable);
  // The same for a descriptor that somebody may have closed: the kernel forgets those by itself. False: it was not his.
  bool forget(int fd, const Pollable& pollable);

  using TimerId = std::uint64_t;
  TimerId at(TimePoint when, std::function<void()> task);
  void cancel(TimerId timer);

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
  void run_tasks();
  void drop_tasks();
  void run_timers();

  OwnedFd epoll_, wake_;
  std::thread thread_;
  std::atomic<bool> stopping_{false};

  std::mutex mutex_;                          // guards tasks_
  std::vector<std::function<void()>> tasks_;

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

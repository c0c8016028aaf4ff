#include "engine/runtime/reactor.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <exception>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/service_thread.h"
#include "engine/runtime/fork_guard.h"

namespace railweave::engine {
namespace {

constexpr int kEventsPerTurn = 64;
constexpr int kIdleMsMax = 60'000;

// Logs and drops an exception, such as std::bad_alloc: one that left the thread would end the application.
template <class Callback>
void run_guarded(const Callback& callback) {
  try {
    callback();
  } catch (const std::exception& e) {
    RW_WARN(net, "the engine's thread: {}", e.what());
  }
}

}  // namespace

Reactor::~Reactor() { stop(); }

Status Reactor::start() {
  Status status = open();
  if (status.ok()) status = start_service_thread(thread_, "railweave", [this] { loop(); });
  if (!status.ok()) close();
  return status;
}

Status Reactor::open() {
  epoll_.reset(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_) return system_error(Scope::engine, "epoll_create1");
  guard_descriptor(epoll_.get());
  wake_.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_) return system_error(Scope::engine, "eventfd");
  guard_descriptor(wake_.get());
  epoll_event event{.events = EPOLLIN, .data = {.fd = wake_.get()}};
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &event) != 0) return system_error(Scope::engine, "epoll_ctl");
  return {};
}

void Reactor::close() {
  release_descriptor(epoll_.get());
  release_descriptor(wake_.get());
  epoll_.reset();
  wake_.reset();
}

void Reactor::stop() {
  if (!thread_.joinable()) return;
  stopping_ = true;  // not set by a task: there may be no memory for a task
  wake();
  thread_.join();
  thread_id_.store({}, std::memory_order_relaxed);
  stopped_.store(true, std::memory_order_seq_cst);
  drop_woken();
  drop_tasks();
  release_descriptor(epoll_.get());
  release_descriptor(wake_.get());
}

void Reactor::run_soon(std::function<void()> task) {
  {
    const MutexLock lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  wake();
}

// stop() may run at the same time: either stop() sees the node, or this call sees stopped_.
void Reactor::wake_for(std::shared_ptr<Wakeable> wakeable) noexcept {
  Wakeable& node = *wakeable;
  if (!woken_.add(node, [&] { node.keep_ = std::move(wakeable); })) return;
  if (stopped_.load(std::memory_order_seq_cst))
    drop_woken();
  else
    wake();
}

void Reactor::run_woken() {
  for (ReadyNode* next = woken_.take_all(); next != nullptr;) {
    Wakeable& node = static_cast<Wakeable&>(*next);
    const std::shared_ptr<Wakeable> keep = std::move(node.keep_);
    next = ReadySet::release(node);
    run_guarded([&] { node.on_wake(); });
  }
}

void Reactor::drop_woken() {
  for (ReadyNode* next = woken_.take_all(); next != nullptr;) {
    Wakeable& node = static_cast<Wakeable&>(*next);
    const std::shared_ptr<Wakeable> keep = std::move(node.keep_);
    next = ReadySet::release(node);
  }
}

void Reactor::wake() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = write(wake_.get(), &one, sizeof one);
}

Status Reactor::add(int fd, Pollable& pollable, std::uint32_t events) {
  assert(is_mine() && fd >= 0);
  epoll_event event{.events = events | EPOLLONESHOT, .data = {.fd = fd}};
  polled_[fd] = &pollable;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0) return {};
  if (errno == EEXIST && epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event) == 0) return {};  // add() was repeated
  const int err = errno;
  polled_.erase(fd);
  return system_error(Scope::engine, "epoll_ctl", err);
}

void Reactor::arm(int fd, Pollable& pollable, std::uint32_t events) {
  assert(is_mine() && fd >= 0);
  polled_[fd] = &pollable;
  epoll_event event{.events = events | EPOLLONESHOT, .data = {.fd = fd}};
  epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
}

void Reactor::remove(int fd, const Pollable& pollable) {
  if (forget(fd, pollable)) epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

bool Reactor::forget(int fd, const Pollable& pollable) {
  assert(is_mine());
  const auto it = polled_.find(fd);
  if (it == polled_.end() || it->second != &pollable) return false;
  polled_.erase(it);
  return true;
}

Reactor::TimerId Reactor::at(TimePoint when, std::function<void()> task) {
  assert(is_mine());
  const TimerId id = next_timer_++;
  timers_.insert({when, id});
  timer_tasks_.emplace(id, TimerTask{when, std::move(task)});
  return id;
}

void Reactor::cancel(TimerId id) {
  assert(is_mine());
  const auto task = timer_tasks_.extract(id);  // extracted first: the task's destructor may call cancel()
  if (!task.empty()) timers_.erase({task.mapped().when, id});
}

int Reactor::timeout_ms() const {
  if (timers_.empty()) return kIdleMsMax;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(timers_.begin()->when - now()).count();
  return int(std::clamp<std::int64_t>(left, 0, kIdleMsMax));
}

void Reactor::loop() {
  std::array<epoll_event, kEventsPerTurn> events;
  thread_id_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  while (!stopping_) {
    const int n = epoll_wait(epoll_.get(), events.data(), kEventsPerTurn, timeout_ms());
    for (int i = 0; i < n; ++i) {
      const int fd = events[i].data.fd;
      if (fd == wake_.get()) {
        std::uint64_t count;
        [[maybe_unused]] const ssize_t got = read(fd, &count, sizeof count);
        continue;
      }
      if (const auto it = polled_.find(fd); it != polled_.end())
        run_guarded([&] { it->second->on_ready(events[i].events); });
    }
    run_woken();
    run_tasks();
    run_timers();
  }
  run_tasks();
}

void Reactor::run_tasks() {
  std::vector<std::function<void()>> tasks;
  {
    const MutexLock lock(mutex_);
    tasks.swap(tasks_);
  }
  for (auto& task : tasks) run_guarded(task);
}

// Destroys tasks that were queued too late to run. Their destructors may use the reactor, and queue more tasks.
void Reactor::drop_tasks() {
  for (;;) {
    std::vector<std::function<void()>> late;
    const MutexLock lock(mutex_);
    if (tasks_.empty()) return;
    late.swap(tasks_);
  }
}

// Runs timers that are due. A timer that is set meanwhile waits for the next turn of the loop, after events and tasks.
void Reactor::run_timers() {
  const TimePoint began = now();
  while (!timers_.empty() && timers_.begin()->when <= began) {
    const TimerId id = timers_.begin()->id;
    timers_.erase(timers_.begin());
    auto node = timer_tasks_.extract(id);
    if (!node.empty()) run_guarded(node.mapped().run);
  }
}

}  // namespace railweave::engine

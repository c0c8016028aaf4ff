#include "collectives/runner.h"

#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <system_error>

#include "base/clock.h"

namespace railweave::collectives {
namespace {

using namespace std::chrono_literals;

constexpr Nanos kLook = 1ms;          // of the thread, while operations come and others drive them
constexpr int kLooksMax = 20;         // in a row without anything unfinished: then it sleeps until it is woken
constexpr Nanos kSoon = 50us;         // from a submission to its wait()
constexpr Nanos kSpin = 1ms;          // without anything moving: then whoever drives begins to sleep between passes
constexpr Nanos kNap = 50us;

// Yields while something may come any moment, then naps: with more ranks than cores the others need them.
class Patience {
 public:
  void moved() { since_ = TimePoint{}; }
  void idle() {
    if (since_ == TimePoint{}) since_ = now();
    if (now() - since_ < kSpin) {
      sched_yield();
    } else {
      std::this_thread::sleep_for(kNap);
    }
  }

 private:
  TimePoint since_{};
};

}  // namespace

Result<std::shared_ptr<Runner>> Runner::shared() {
  static std::mutex mutex;
  static std::weak_ptr<Runner> known;
  const std::lock_guard lock(mutex);
  if (auto runner = known.lock()) return runner;
  std::shared_ptr<Runner> runner(new Runner());
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are for the application's threads
  Status status;
  try {
    runner->thread_ = std::thread(&Runner::loop, runner->bell_, std::weak_ptr(runner));
    pthread_setname_np(runner->thread_.native_handle(), "railweave-coll");
  } catch (const std::system_error& e) {
    status = Status(Code::exhausted, Scope::engine, std::string("cannot start a thread: ") + e.what(), e.code().value());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!status.ok()) return status;
  known = runner;
  return runner;
}

Runner::~Runner() {
  {
    const std::lock_guard lock(bell_->mutex);
    bell_->stopping = true;
  }
  bell_->rung.notify_all();
  if (!thread_.joinable()) return;
  thread_.get_id() == std::this_thread::get_id() ? thread_.detach() : thread_.join();
}

void Runner::add(Driven& driven) {
  const auto held = lock();
  driven_.push_back(&driven);
}

void Runner::remove(Driven& driven) {
  const auto held = lock();
  std::erase(driven_, &driven);
}

void Runner::submitted(bool promptly) {
  bell_->busy.store(true, std::memory_order_seq_cst);
  const bool unattended = bell_->waiters.load(std::memory_order_relaxed) == 0;
  if (promptly) bell_->submitted_at_ns.store(now().time_since_epoch().count(), std::memory_order_relaxed);
  const bool ring = promptly && unattended && !bell_->waits_soon.load(std::memory_order_relaxed);
  if (!bell_->deep.load(std::memory_order_seq_cst) && !ring) return;
  {
    const std::lock_guard lock(bell_->mutex);
    bell_->asked = true;
  }
  bell_->rung.notify_one();
}

Runner::Pass Runner::pass() {
  std::vector<std::function<void()>> callbacks;
  bool moved = false, busy = false;
  {
    const std::unique_lock held(driving_, std::try_to_lock);
    if (!held) return Pass::elsewhere;
    bell_->busy.store(false, std::memory_order_seq_cst);  // what is submitted from here on, this pass sees or sets it again
    for (Driven* driven : driven_) {
      moved |= driven->advance();
      busy |= driven->busy();
      for (auto& callback : driven->take_callbacks()) callbacks.push_back(std::move(callback));
    }
    if (busy) bell_->busy.store(true, std::memory_order_seq_cst);
  }
  for (auto& callback : callbacks) callback();
  return moved ? Pass::moved : Pass::idle;
}

void Runner::drive_once() { (void)pass(); }

bool Runner::drive_until(const std::function<bool()>& over, TimePoint deadline) {
  if (over()) return true;
  bell_->waiters.fetch_add(1, std::memory_order_relaxed);
  const Nanos submitted_at(bell_->submitted_at_ns.load(std::memory_order_relaxed));
  bell_->waits_soon.store(now().time_since_epoch() - submitted_at < kSoon, std::memory_order_relaxed);
  Patience patience;
  bool done = false;
  for (int turns = 1; !done; ++turns) {
    const Pass p = pass();
    done = over();
    if (done || (turns % 16 == 0 && now() >= deadline)) break;
    p == Pass::moved ? patience.moved() : patience.idle();
  }
  bell_->waiters.fetch_sub(1, std::memory_order_relaxed);
  return done;
}

void Runner::loop(std::shared_ptr<Bell> bell, std::weak_ptr<Runner> weak) {
  Patience patience;
  while (bell->wait()) {
    const std::shared_ptr<Runner> runner = weak.lock();
    if (!runner) return;
    runner->pass() == Pass::moved ? patience.moved() : patience.idle();
  }
}

// While others drive, or nothing is unfinished, it looks again in a while; in the end it sleeps until it is woken.
bool Runner::Bell::wait() {
  std::unique_lock lock(mutex);
  for (int looks = 0; !stopping && !asked; ++looks) {
    const bool attended = waiters.load(std::memory_order_relaxed) > 0;
    if (busy.load(std::memory_order_seq_cst) && !attended) {
      waits_soon.store(false, std::memory_order_relaxed);
      break;
    }
    if (attended) looks = 0;
    if (looks < kLooksMax) {
      rung.wait_for(lock, kLook);
      continue;
    }
    deep.store(true, std::memory_order_seq_cst);
    rung.wait(lock, [&] { return stopping || asked || busy.load(std::memory_order_seq_cst); });
    deep.store(false, std::memory_order_seq_cst);
  }
  asked = false;
  return !stopping;
}

}  // namespace railweave::collectives

#include "collectives/exec/runner.h"

#include <sched.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/service_thread.h"

namespace railweave::collectives {
namespace {

using namespace std::chrono_literals;

constexpr Nanos kPoll = 1ms;  // polls of the runner's thread, while other threads drive
// the thread's polls lengthen to this while callers wait: with many ranks on few cores each poll costs
constexpr Nanos kPollMost = 16ms;
constexpr int kPollsMax = 20;  // polls in a row without unfinished operations: then the thread sleeps until rung
constexpr Nanos kSoon = 50us;  // a caller that waits within this time after its submission waits at once
// A waiting thread naps between passes after kPassesBeforeNaps passes, and kSpin, in which nothing moved. A nap is the
// wait so far divided by kWaitPerNap, from kNap to kNapMost.
constexpr Nanos kSpin = 1ms;
constexpr int kPassesBeforeNaps = 64;
constexpr Nanos kNap = 50us;
constexpr Nanos kNapMost = 1ms;
constexpr int kWaitPerNap = 64;

// The waits of a thread in drive_until(). The thread yields while data may arrive at any moment, then naps: with more
// ranks than cores the other ranks need the cores. Time alone does not decide, for two reasons. A yield lasts as long
// as another thread wants this core. Two threads that share a core and nap are never moved apart: Linux balances by the
// threads that wait for a core, and does not look for an idle core when a sleeping thread wakes.
class Patience {
 public:
  void moved() { passes_ = 0; }
  void idle() {
    if (passes_ < kPassesBeforeNaps && ++passes_ == 1) since_ = now();
    if (passes_ < kPassesBeforeNaps || now() - since_ < kSpin) {
      sched_yield();
    } else {
      std::this_thread::sleep_for(std::clamp<Nanos>((now() - since_) / kWaitPerNap, kNap, kNapMost));
    }
  }

 private:
  TimePoint since_{};
  int passes_ = 0;  // passes in a row that moved nothing; counted up to kPassesBeforeNaps
};

// The naps of the runner's thread. No thread waits for the operations that this thread drives, and computing threads
// want the core: a nap gives the core away more cheaply than a yield. Data that arrives during a nap stays in the
// kernel, and is taken in one pass. Naps are longer while many bytes are on their way: each wake-up costs the computing
// thread on that core its caches.
class Background {
 public:
  void moved() { nap_ = std::max(nap_ / 2, kShortest); }
  // `may_rest`: as Driven::may_rest(); max: data may come at any moment.
  Nanos nap(Nanos may_rest) {
    const Nanos usual = std::exchange(nap_, std::min(2 * nap_, kLongest));
    return may_rest == Nanos::max() ? usual : std::max(usual, std::min(may_rest, kLongestRest));
  }

 private:
  static constexpr Nanos kShortest = 50us, kLongest = 400us, kLongestRest = 500us;
  Nanos nap_ = kShortest;
};

}  // namespace

// One record for each process. A forked child has its own record: the fork may have happened while a thread of the
// parent held this mutex.
struct Runner::Known {
  const ProcessOrigin origin;
  Mutex mutex;
  std::weak_ptr<Runner> runner RW_GUARDED_BY(mutex);
  Known* parents = nullptr;  // the parent process's record: unused, and never destroyed
};

Runner::Known& Runner::known() {
  static std::atomic<Known*> latest{nullptr};
  Known* there = latest.load(std::memory_order_acquire);
  while (there == nullptr || there->origin.in_child()) {
    auto fresh = std::make_unique<Known>();
    fresh->parents = there;
    if (latest.compare_exchange_strong(there, fresh.get(), std::memory_order_acq_rel)) return *fresh.release();
  }
  return *there;
}

Result<std::shared_ptr<Runner>> Runner::shared() {
  Known& place = known();
  const MutexLock lock(place.mutex);
  if (auto runner = place.runner.lock()) return runner;
  std::shared_ptr<Runner> runner(new Runner(), [](Runner* r) {
    if (!r->forked()) delete r;  // in a forked child the runner's threads do not exist
  });
  RW_TRY(runner->background_.start());
  RW_TRY(start_service_thread(runner->thread_, "railweave-coll",
                              [bell = runner->bell_, weak = std::weak_ptr(runner)] { loop(bell, weak); }));
  place.runner = runner;
  return runner;
}

Status Runner::dead_after_fork() {
  return Status(Code::internal, Scope::engine,
                "this process was forked: the groups it was forked with live in the parent only");
}

Runner::~Runner() {
  {
    const MutexLock lock(bell_->mutex);
    bell_->stopping = true;
  }
  bell_->rung.notify_all();
  if (!thread_.joinable()) return;
  thread_.get_id() == std::this_thread::get_id() ? thread_.detach() : thread_.join();
}

void Runner::add(Driven& driven) {
  const MutexLock held(driving_);
  driven_.push_back(&driven);
}

void Runner::remove(Driven& driven) {
  const MutexLock held(driving_);
  std::erase(driven_, &driven);
}

std::shared_ptr<Scheduling> Runner::scheduling_of(const Engine* engine, const Policy& policy) {
  const MutexLock held(driving_);
  std::erase_if(schedulings_, [](const auto& known) { return known.second.expired(); });
  auto& known = schedulings_[engine];
  auto scheduling = known.lock();
  if (!scheduling) {
    known = scheduling = std::make_shared<Scheduling>();
    scheduling->scheduler = Scheduler(policy.window);
    if (policy.learns) scheduling->scheduler.open_to_proposals(now());
  }
  return scheduling;
}

void Runner::submitted(bool promptly) {
  bell_->busy.store(true, std::memory_order_seq_cst);
  const bool unattended = bell_->waiters.load(std::memory_order_relaxed) == 0;
  if (promptly) bell_->submitted_at_ns.store(now().time_since_epoch().count(), std::memory_order_relaxed);
  const bool ring = promptly && unattended && !bell_->waits_soon.load(std::memory_order_relaxed);
  if (bell_->deep.load(std::memory_order_seq_cst) || ring) bell_->ring();
}

void Runner::run_in_background(std::function<void()> task) {
  background_.add([task = std::move(task), bell = bell_] {
    task();
    bell->busy.store(true, std::memory_order_seq_cst);
    if (bell->deep.load(std::memory_order_seq_cst)) bell->ring();
  });
}

Runner::Pass Runner::pass(bool waits, Nanos* may_rest) {
  std::vector<std::function<void()>> callbacks;
  bool moved = false, busy = false;
  {
    if (!driving_.try_lock()) return Pass::elsewhere;
    const MutexLock held(driving_, std::adopt_lock);
    // cleared first: a submission from here on is seen by this pass, or sets busy again
    bell_->busy.store(false, std::memory_order_seq_cst);
    for (Driven* driven : driven_) {
      moved |= driven->advance();
      busy |= driven->busy();
      for (auto& callback : driven->take_callbacks()) callbacks.push_back(std::move(callback));
    }
    for (Driven* driven : driven_) driven->after_pass();
    if (may_rest != nullptr && !moved)
      for (const Driven* driven : driven_) *may_rest = std::min(*may_rest, driven->may_rest());
    if (busy) bell_->busy.store(true, std::memory_order_seq_cst);
    // A caller that polls may not come back. The runner's thread may have gone to sleep while this pass had busy
    // cleared.
    if (busy && bell_->deep.load(std::memory_order_seq_cst)) bell_->ring();
  }
  if (callbacks.empty()) return moved ? Pass::moved : Pass::idle;
  // A thread that runs callbacks does not drive, so the thread is no waiter meanwhile: the runner's thread drives.
  if (waits) bell_->waiters.fetch_sub(1, std::memory_order_relaxed);
  for (auto& callback : callbacks) callback();
  if (waits) bell_->waiters.fetch_add(1, std::memory_order_relaxed);
  return moved ? Pass::moved : Pass::idle;
}

void Runner::drive_once() {
  if (!forked()) (void)pass(false);
}

bool Runner::drive_until(const std::function<bool()>& over, TimePoint deadline) {
  if (over()) return true;
  if (forked()) return false;
  const Waiter counted = count_waiter();
  Patience patience;
  bool done = false;
  for (int passes = 1; !done; ++passes) {
    const Pass p = pass(true);
    done = over();
    if (done || (passes % 16 == 0 && now() >= deadline)) break;
    p == Pass::moved ? patience.moved() : patience.idle();
  }
  return done;
}

Runner::Waiter Runner::count_waiter() {
  if (bell_->submitted_at_ns.load(std::memory_order_relaxed) != 0) {
    const Nanos submitted_at(bell_->submitted_at_ns.exchange(0, std::memory_order_relaxed));
    bell_->waits_soon.store(now().time_since_epoch() - submitted_at < kSoon, std::memory_order_relaxed);
  }
  return Waiter(*bell_);
}

Runner::Waiter::Waiter(Bell& bell) : bell_(bell) { bell_.waiters.fetch_add(1, std::memory_order_relaxed); }

Runner::Waiter::~Waiter() {
  const bool last = bell_.waiters.fetch_sub(1, std::memory_order_seq_cst) == 1;
  if (last && bell_.relies_on_waiters.load(std::memory_order_seq_cst)) bell_.shorten_poll();
}

void Runner::loop(std::shared_ptr<Bell> bell, std::weak_ptr<Runner> weak) {
  Background patience;
  while (bell->wait()) {
    Pass pass = Pass::idle;
    Nanos may_rest = Nanos::max();
    {
      const std::shared_ptr<Runner> runner = weak.lock();
      if (!runner) return;
      pass = runner->pass(false, &may_rest);
    }
    if (pass == Pass::moved) {
      patience.moved();
    } else {
      bell->nap(patience.nap(pass == Pass::idle ? may_rest : Nanos{0}));
    }
  }
}

void Runner::Bell::nap(Nanos length) {
  MutexLock lock(mutex);
  rung.wait_for(mutex, length, [&]() RW_REQUIRES(mutex) { return stopping || asked; });
}

void Runner::Bell::ring() {
  {
    const MutexLock lock(mutex);
    asked = true;
  }
  rung.notify_one();
}

// From now on a submission is seen within kPoll.
void Runner::Bell::shorten_poll() {
  {
    const MutexLock lock(mutex);
    relies_on_waiters.store(false, std::memory_order_relaxed);
  }
  rung.notify_one();
}

// Polls while other threads drive, or while no operation is unfinished. After kPollsMax polls sleeps until rung.
bool Runner::Bell::wait() {
  MutexLock lock(mutex);
  Nanos poll = kPoll / 2;
  for (int polls = 0; !stopping && !asked; ++polls) {
    const bool attended = waiters.load(std::memory_order_relaxed) > 0;
    if (busy.load(std::memory_order_seq_cst) && !attended) {
      waits_soon.store(false, std::memory_order_relaxed);
      break;
    }
    if (attended) polls = 0;
    if (polls < kPollsMax) {
      poll = attended ? std::min(2 * poll, kPollMost) : kPoll;
      relies_on_waiters.store(poll > kPoll, std::memory_order_seq_cst);
      // the last waiter left before relies_on_waiters was set
      if (poll > kPoll && waiters.load(std::memory_order_seq_cst) == 0) continue;
      rung.wait_for(mutex, poll, [&]() RW_REQUIRES(mutex) {
        return stopping || asked || (poll > kPoll && !relies_on_waiters.load(std::memory_order_relaxed));
      });
      continue;
    }
    deep.store(true, std::memory_order_seq_cst);
    rung.wait(mutex, [&]() RW_REQUIRES(mutex) { return stopping || asked || busy.load(std::memory_order_seq_cst); });
    deep.store(false, std::memory_order_seq_cst);
  }
  relies_on_waiters.store(false, std::memory_order_relaxed);
  asked = false;
  return !stopping;
}

}  // namespace railweave::collectives

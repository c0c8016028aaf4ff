#include "collectives/exec/runner.h"

#include <sched.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "collectives/exec/service_thread.h"

namespace railweave::collectives {
namespace {

using namespace std::chrono_literals;

constexpr Nanos kPoll = 1ms;  // of the thread, while operations come and others drive them
// the thread's looks lengthen to this while callers wait: with many ranks on few cores each look costs
constexpr Nanos kPollMost = 16ms;
constexpr int kPollsMax = 20;          // in a row without anything unfinished: then it sleeps until it is woken
constexpr Nanos kSoon = 50us;          // from a submission to its wait()
constexpr Nanos kSpin = 1ms;           // without anything moving, and
constexpr int kPassesBeforeNaps = 64;  // so many passes: then whoever drives begins to sleep between them
constexpr Nanos kNap = 50us;           // a nap is the wait so far, divided by kWaitPerNap, within kNap and kNapMost
constexpr Nanos kNapMost = 1ms;
constexpr int kWaitPerNap = 64;

// Yields while something may come any moment, then naps: with more ranks than cores the others need them. Not for the
// time alone: a yield lasts as long as who else is on this core wants it, and two that share one and nap are never
// moved apart (Linux looks at how many wait for a core, and does not look for an idle one when it wakes who slept).
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
  int passes_ = 0;  // in a row that moved nothing; no more are counted than matter
};

// The naps of the runner's thread. Nobody waits for what it drives, and computing threads want the core: a nap gives
// the core away more cheaply than a yield. Data that came meanwhile is in the kernel, and goes in one pass. Where much
// is on its way, naps are longer: each time the thread wakes, it costs the computing thread there its caches.
class Background {
 public:
  void moved() { nap_ = std::max(nap_ / 2, kShortest); }
  // `may_rest`: see Driven; what is not said to be on its way may come any moment.
  Nanos nap(Nanos may_rest) {
    const Nanos usual = std::exchange(nap_, std::min(2 * nap_, kLongest));
    return may_rest == Nanos::max() ? usual : std::max(usual, std::min(may_rest, kLongestRest));
  }

 private:
  static constexpr Nanos kShortest = 50us, kLongest = 400us, kLongestRest = 500us;
  Nanos nap_ = kShortest;
};

}  // namespace

// One record a process. A forked child has its own: fork may have caught the parent's threads inside this mutex, too.
struct Runner::Known {
  const ProcessOrigin origin;
  Mutex mutex;
  std::weak_ptr<Runner> runner RW_GUARDED_BY(mutex);
  Known* parents = nullptr;  // of no use any more, and never destroyed
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
    if (!r->forked()) delete r;  // its threads live in the parent only
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

Runner::Pass Runner::pass(bool waits, Nanos* may_rest) {
  std::vector<std::function<void()>> callbacks;
  bool moved = false, busy = false;
  {
    if (!driving_.try_lock()) return Pass::elsewhere;
    const MutexLock held(driving_, std::adopt_lock);
    // what is submitted from here on, this pass sees or sets it again
    bell_->busy.store(false, std::memory_order_seq_cst);
    for (Driven* driven : driven_) {
      moved |= driven->advance();
      busy |= driven->busy();
      for (auto& callback : driven->take_callbacks()) callbacks.push_back(std::move(callback));
    }
    for (Driven* driven : driven_) driven->check_peers();
    if (may_rest != nullptr && !moved)
      for (const Driven* driven : driven_) *may_rest = std::min(*may_rest, driven->may_rest());
    if (busy) bell_->busy.store(true, std::memory_order_seq_cst);
    // A poller need not come back, and the runner's thread may have gone to sleep while this pass hid what is
    // unfinished.
    if (busy && bell_->deep.load(std::memory_order_seq_cst)) bell_->ring();
  }
  if (callbacks.empty()) return moved ? Pass::moved : Pass::idle;
  // A thread that runs callbacks drives nobody, so it is no waiter meanwhile: the runner's thread drives.
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
  for (int turns = 1; !done; ++turns) {
    const Pass p = pass(true);
    done = over();
    if (done || (turns % 16 == 0 && now() >= deadline)) break;
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

// What is submitted from now on may count on a look within kPoll.
void Runner::Bell::shorten_poll() {
  {
    const MutexLock lock(mutex);
    relies_on_waiters.store(false, std::memory_order_relaxed);
  }
  rung.notify_one();
}

// While others drive, or nothing is unfinished, it looks again in a while; in the end it sleeps until it is woken.
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
      // the last waiter left before it could know
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

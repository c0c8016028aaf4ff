// Drives every group of the process: whoever waits does, one at a time, and one thread when nobody waits.
//
// Threads: any. The lock: whoever drives holds it for one pass; nothing waits for the network or a store under it.
// The thread: starts with the first group, sleeps while no operation is unfinished, ends with the last group and Work.
// BackgroundWorker: on a thread of their own (see BackgroundWorker for its end); they may wait, and hold up nothing but
// each other.
// Fork: the parent's runner is dead in a child, where shared() makes another.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/process_origin.h"
#include "collectives/exec/background_worker.h"
#include "collectives/scheduler/scheduler.h"
#include "railweave/status.h"
#include "railweave/units.h"

namespace railweave::collectives {

// What is driven. All calls under the runner's lock.
class Driven {
 public:
  // True: something moved.
  virtual bool advance() = 0;
  // All have advanced in this pass.
  virtual void check_peers() = 0;
  // Has operations that are not over.
  virtual bool busy() const = 0;
  // How long nothing would be late if nobody drove it; max: nothing of it is on its way.
  virtual Nanos may_rest() const = 0;
  // What is to be called now that operations are over; called without the lock.
  virtual std::vector<std::function<void()>> take_callbacks() = 0;

 protected:
  ~Driven() = default;
};

// What all groups over one engine share (ranks that are threads of a process have an engine each).
struct Scheduling {
  Scheduler scheduler;  // used under the runner's lock
  // Counted as groups issue, by any thread.
  std::atomic<std::uint64_t> issued_bytes{0};  // V: of what the scheduler counts
  std::atomic<std::uint64_t> issued{1};        // the next number of calls and messages
};

class Runner {
  struct Bell;

 public:
  // The process's one; made at first use, gone with its last holder. Errors: exhausted (no thread to be had).
  static Result<std::shared_ptr<Runner>> shared();
  ~Runner();

  void add(Driven& driven);
  // After return nobody drives it.
  void remove(Driven& driven);

  // There is something new to do. `promptly`: also if nobody should come to wait; else the thread may take a
  // millisecond. It is not woken for a caller who came to wait at once the last time: it would only stand in that
  // caller's way.
  void submitted(bool promptly);
  // Drives until `over` or the deadline: what it said last. Must not be called from a callback.
  bool drive_until(const std::function<bool()>& over, TimePoint deadline);
  // Somebody drives a part by himself and waits, as long as this lives: the thread need not come for it.
  class Waiter {
   public:
    explicit Waiter(Bell& bell);
    ~Waiter();
    Waiter(const Waiter&) = delete;

   private:
    Bell& bell_;
  };
  Waiter count_waiter();
  // For what may take its time; owns what it needs.
  void run_in_background(std::function<void()> task) { background_.add(std::move(task)); }
  // True in a child forked since: driving does nothing there, and nothing else may be called.
  bool forked() const { return origin_.in_child(); }
  static Status dead_after_fork();  // what calls answer there
  // One pass, unless somebody else is at it.
  void drive_once();
  // `policy` is its to begin with; later groups find what there is.
  std::shared_ptr<Scheduling> scheduling_of(const Engine* engine, const Policy& policy);
  // Numbers for lines of schedulers: the first of so many.
  Scheduler::QueueId new_queues(int count) { return next_queue_.fetch_add(Scheduler::QueueId(count)); }
  // For what must not meet a pass: whoever drives holds it.
  Mutex& mutex() RW_RETURN_CAPABILITY(driving_) { return driving_; }

 private:
  // What the thread sleeps on. Its own share: the last holder of the runner may be a callback that the thread runs.
  struct Bell {
    std::atomic<bool> busy{false};  // somebody has unfinished operations, as of the last pass or submission
    std::atomic<int> waiters{0};    // threads in drive_until()
    std::atomic<bool> deep{false};  // the thread sleeps until it is woken
    // the thread looks seldom; the last waiter to leave calls shorten_poll()
    std::atomic<bool> relies_on_waiters{false};
    // the last that was to be done promptly; 0: somebody came to wait since
    std::atomic<std::int64_t> submitted_at_ns{0};
    std::atomic<bool> waits_soon{false};  // its caller came to wait at once
    Mutex mutex;
    ConditionVariable rung;
    bool stopping RW_GUARDED_BY(mutex) = false;
    bool asked RW_GUARDED_BY(mutex) = false;

    bool wait();             // until the thread is needed. False: the runner ends
    void nap(Nanos length);  // or until somebody rings
    void ring();             // it is needed
    void shorten_poll();     // it may be, soon
  };

  Runner() : bell_(std::make_shared<Bell>()) {}
  enum class Pass { moved, idle, elsewhere };
  struct Known;
  static Known& known();
  // `waits`: counted in Bell::waiters. `may_rest`: told after an idle one.
  Pass pass(bool waits, Nanos* may_rest = nullptr);
  static void loop(std::shared_ptr<Bell> bell, std::weak_ptr<Runner> runner);

  const ProcessOrigin origin_;
  BackgroundWorker background_;
  Mutex driving_;
  std::vector<Driven*> driven_ RW_GUARDED_BY(driving_);
  std::map<const Engine*, std::weak_ptr<Scheduling>> schedulings_ RW_GUARDED_BY(driving_);
  std::atomic<Scheduler::QueueId> next_queue_{0};
  const std::shared_ptr<Bell> bell_;
  std::thread thread_;
};

}  // namespace railweave::collectives

// Drives all groups of the process. Threads that wait for an operation drive, one at a time; the runner's own thread
// drives while no thread waits.
//
// Threads: any. The lock (mutex()): the driving thread holds the lock for one pass. No call waits for the network or a
// store under the lock. The runner's thread: starts with the first group, sleeps while no operation is unfinished, ends
// with the last group and Work.
// Background tasks: run on the BackgroundWorker's thread, may block, and delay only each other.
// Fork: the parent's runner is dead in a forked child, where shared() makes another one.
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

// An object that the runner drives: a group. All calls are made under the runner's lock.
class Driven {
 public:
  // Does the work that can be done now. True: something moved.
  virtual bool advance() = 0;
  // Called in each pass after all objects have advanced.
  virtual void after_pass() = 0;
  // True while operations are unfinished.
  virtual bool busy() const = 0;
  // How long nothing is delayed if no thread calls advance(); max: no data is on its way.
  virtual Nanos may_rest() const = 0;
  // Returns the callbacks of operations that are over. The runner calls them without the lock.
  virtual std::vector<std::function<void()>> take_callbacks() = 0;

 protected:
  ~Driven() = default;
};

// State that all groups over one engine share. (Ranks that are threads of one process have one engine each.)
struct Scheduling {
  Scheduler scheduler;  // used under the runner's lock
  // The counters below are advanced when a group issues an operation, by any thread.
  std::atomic<std::uint64_t> issued_bytes{0};  // bytes that the scheduler counts: V of docs/internals/scheduler.md
  std::atomic<std::uint64_t> issued{1};        // number of the next call or message
};

class Runner {
  struct Bell;

 public:
  // Returns the process's runner: made at first use, destroyed with its last holder. Errors: exhausted (no thread
  // available).
  static Result<std::shared_ptr<Runner>> shared();
  ~Runner();

  // `driven` stays until remove().
  void add(Driven& driven);
  // After return no thread drives `driven`.
  void remove(Driven& driven);

  // Announces new work. `promptly`: the runner's thread is woken, even if no caller comes to wait. Otherwise the thread
  // may take a millisecond. The thread is not woken for a caller that came to wait at once the last time: the thread
  // would only compete with this caller.
  void submitted(bool promptly);
  // Drives until over() or the deadline. Returns the last result of over(); false in a forked child. Must not be called
  // from a callback.
  bool drive_until(const std::function<bool()>& over, TimePoint deadline);
  // Marks, while alive, that a thread waits and drives its own part: the runner's thread need not drive.
  class Waiter {
   public:
    explicit Waiter(Bell& bell);
    ~Waiter();
    Waiter(const Waiter&) = delete;

   private:
    Bell& bell_;
  };
  Waiter count_waiter();
  // Runs `task` on the BackgroundWorker's thread. The task may block, and must own the objects that it uses. A pass
  // follows the task, even if no operation is unfinished: a group may have waited for the task's answer.
  void run_in_background(std::function<void()> task);
  // True in a forked child of the runner's process. There driving does nothing, and no other function may be called.
  bool forked() const { return origin_.in_child(); }
  static Status dead_after_fork();  // the status of calls in a forked child
  // Makes one pass, unless another thread drives.
  void drive_once();
  // Returns the state that groups over `engine` share. The first group's `policy` counts.
  std::shared_ptr<Scheduling> scheduling_of(const Engine* engine, const Policy& policy);
  // Reserves `count` consecutive ids of scheduler queues, and returns the first.
  Scheduler::QueueId new_queues(int count) { return next_queue_.fetch_add(Scheduler::QueueId(count)); }
  // The runner's lock. The driving thread holds the lock during a pass.
  Mutex& mutex() RW_RETURN_CAPABILITY(driving_) { return driving_; }

 private:
  // The state on which the runner's thread sleeps. The thread shares ownership: the runner's last holder may be a
  // callback that the thread itself runs.
  struct Bell {
    // operations are unfinished, as of the last pass or submission, or a background task has ended since the last pass
    std::atomic<bool> busy{false};
    std::atomic<int> waiters{0};    // living Waiters, less those in callbacks
    std::atomic<bool> deep{false};  // the thread sleeps until rung, without a timeout
    // the thread polls seldom; the last waiter to leave calls shorten_poll()
    std::atomic<bool> relies_on_waiters{false};
    // time of the last prompt submission (nanoseconds); 0: a caller has come to wait since
    std::atomic<std::int64_t> submitted_at_ns{0};
    std::atomic<bool> waits_soon{false};  // the caller of that submission came to wait at once
    Mutex mutex;
    ConditionVariable rung;
    bool stopping RW_GUARDED_BY(mutex) = false;
    bool asked RW_GUARDED_BY(mutex) = false;

    bool wait();             // blocks until the thread is needed; false: the runner ends
    void nap(Nanos length);  // sleeps for `length`, or until ring()
    void ring();             // wakes the thread: the thread is needed
    void shorten_poll();     // makes the thread poll every kPoll again: the thread may be needed soon
  };

  Runner() : bell_(std::make_shared<Bell>()) {}
  enum class Pass {
    moved,      // something moved
    idle,       // nothing moved
    elsewhere,  // no pass was made: another thread drives
  };
  struct Known;
  static Known& known();
  // `waits`: the calling thread is counted in Bell::waiters. `*may_rest`: lowered after a pass that moved nothing.
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

// Operations on their way into a group, in the order they were called: one whose inputs are still being copied to the
// host holds back those behind it, since the group must see the same order on every rank.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <thread>

#include "base/mutex.h"
#include "base/process_origin.h"
#include "railweave/status.h"
#include "torch_ext/csrc/staging.h"

namespace railweave::torch_ext {

// A thread of one backend (railweave-stage), which is there once an operation had to wait.
class StagingQueue {
 public:
  // Told ok, or why the operation must not go to the group.
  using Launch = std::function<void(const Status&)>;

  StagingQueue() : line_(std::make_shared<Pending>()) {}
  // Joins the thread; what still waits is told `cancelled`. From a `launch` that dropped the last reference to a
  // backend, leaves the thread to itself.
  ~StagingQueue();
  StagingQueue(const StagingQueue&) = delete;
  // Calls `launch` once: within this call where nothing is ahead and `ready` is null, else on the thread. One caller at
  // a time, or one within the `launch` of another.
  void add(MarkPtr ready, Launch launch);
  // Whatever waits, or comes later, is told `why`. Any thread; the first one sticks.
  void end(const Status& why);
  // Waits until nothing is on its way; not within a `launch` on the thread, which is on its way itself. Any thread,
  // while others add.
  void drain();

 private:
  struct Waiting {
    MarkPtr ready;
    Launch launch;
  };
  struct Pending {
    Mutex mutex;
    ConditionVariable changed;
    std::deque<Waiting> waiting RW_GUARDED_BY(mutex);  // the first one is being launched
    Status ended RW_GUARDED_BY(mutex);
    bool over RW_GUARDED_BY(mutex) = false;
    std::thread thread RW_GUARDED_BY(mutex);  // begun by add(): even its id is read under mutex, but in the destructor

    void run();
    Status until_ready(const MarkPtr& ready);
  };
  const ProcessOrigin origin_;
  const std::shared_ptr<Pending> line_;
};

}  // namespace railweave::torch_ext

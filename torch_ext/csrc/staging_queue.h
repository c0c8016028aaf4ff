// Passes operations to the group in the order in which they were called. An operation whose inputs are still being
// copied to the host holds back later ones, because the group must see the same order on every rank.
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

// A thread of one backend (railweave-stage), which starts when the first operation has to wait.
class StagingQueue {
 public:
  // Called with ok, or with the reason why the operation must not go to the group.
  using Launch = std::function<void(const Status&)>;

  StagingQueue() : pending_(std::make_shared<Pending>()) {}
  // Waiting operations get `cancelled`.
  ~StagingQueue();
  StagingQueue(const StagingQueue&) = delete;
  // Calls `launch` once: within this call if the queue is empty and `ready` is null, else on the thread once `ready`
  // has passed. One caller at a time, or one within the `launch` of another.
  void add(MarkPtr ready, Launch launch);
  // Fails all waiting and later operations with `why`. Any thread; the first call counts.
  void end(const Status& why);
  // Waits until the queue is empty; returns at once within a `launch` on the thread, whose operation is itself in the
  // queue. Any thread, while others add.
  void drain();
  // Joins the thread, which first launches what waits. If called from a `launch`, detaches the thread. Any thread.
  // REQUIRES: end() was called.
  void end_its_thread();

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
    // Started by add(). Even the thread's id is read under the mutex.
    std::thread thread RW_GUARDED_BY(mutex);

    void run();
    Status until_ready(const MarkPtr& ready);
  };
  const ProcessOrigin origin_;
  const std::shared_ptr<Pending> pending_;
};

}  // namespace railweave::torch_ext

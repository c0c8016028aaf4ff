// Runs tasks that may block (on a store, mostly), one after another, on a separate thread. So threads that drive
// operations, or wait for them, are not delayed.
//
// Threads: any; no lock is held while a task runs. Lifetime: the destructor waits for all tasks, for kWaitMost at most:
// a store whose host is gone may never answer. Then the destructor detaches the thread, which ends after the last task.
// So a task must own the objects that it uses.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <thread>

#include "base/mutex.h"
#include "railweave/status.h"
#include "railweave/units.h"

namespace railweave::collectives {

class BackgroundWorker {
 public:
  static constexpr Nanos kWaitMost = std::chrono::seconds(2);

  ~BackgroundWorker();
  // Starts the thread. Call once. Errors: exhausted (no thread available).
  Status start();
  // Queues `task`.
  void add(std::function<void()> task);

 private:
  // Shared with the thread, which may outlive the BackgroundWorker.
  struct Tasks {
    void run();

    Mutex mutex;
    ConditionVariable changed;
    std::deque<std::function<void()>> tasks RW_GUARDED_BY(mutex);
    bool stopping RW_GUARDED_BY(mutex) = false;
    bool over RW_GUARDED_BY(mutex) = false;  // the thread has done all tasks, and takes no more
  };

  const std::shared_ptr<Tasks> queue_ = std::make_shared<Tasks>();
  std::thread thread_;
};

}  // namespace railweave::collectives

// What may have to wait for somebody else, a store above all: done one after another on a thread of its own, so that
// nobody who drives operations or waits for them is held up.
//
// Threads: any; nothing is held while a task runs. Life: the destructor waits until all tasks have been done, for a
// while: a store whose host is gone may never answer. Then it leaves the thread behind, which goes on, and ends with
// the last of them. So a task owns what it needs.
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
  // Once. Errors: exhausted (no thread to be had).
  Status start();
  void add(std::function<void()> task);

 private:
  // The thread's, too, which may outlive us.
  struct Tasks {
    void run();

    Mutex mutex;
    ConditionVariable changed;
    std::deque<std::function<void()>> tasks RW_GUARDED_BY(mutex);
    bool stopping RW_GUARDED_BY(mutex) = false;
    bool over RW_GUARDED_BY(mutex) = false;  // all have been done, and no more come
  };

  const std::shared_ptr<Tasks> line_ = std::make_shared<Tasks>();
  std::thread thread_;
};

}  // namespace railweave::collectives

// Ends operations whose timeout has passed, even if no thread waits for them.
#pragma once

#include <functional>
#include <memory>
#include <thread>

#include "base/mutex.h"
#include "base/process_origin.h"
#include "railweave/status.h"
#include "railweave/units.h"

namespace railweave::torch_ext {

// A thread of one backend (railweave-late) that sleeps until the earliest deadline.
class Deadlines {
 public:
  // `end_late` ends late operations and returns the next deadline. It is called on this object's thread, without a lock
  // held.
  explicit Deadlines(std::function<TimePoint()> end_late) : timer_(std::make_shared<Timer>(std::move(end_late))) {}
  ~Deadlines() { end(); }
  Deadlines(const Deadlines&) = delete;
  // Announces that an operation must end at `deadline`. After end() no thread watches. Any thread.
  // Errors: exhausted (no thread).
  Status expect(TimePoint deadline);
  // Joins the thread. If called from `end_late` (an ended operation dropped the last reference to a backend), detaches
  // the thread. Any thread.
  void end();

 private:
  struct Timer {
    explicit Timer(std::function<TimePoint()> given) : end_late(std::move(given)) {}
    std::function<TimePoint()> end_late;
    Mutex mutex;
    ConditionVariable changed;
    TimePoint next RW_GUARDED_BY(mutex) = TimePoint::max();  // earliest deadline; max: none
    bool over RW_GUARDED_BY(mutex) = false;
    bool started RW_GUARDED_BY(mutex) = false;
    std::thread thread RW_GUARDED_BY(mutex);
    void run();
  };
  const ProcessOrigin origin_;
  const std::shared_ptr<Timer> timer_;
};

}  // namespace railweave::torch_ext

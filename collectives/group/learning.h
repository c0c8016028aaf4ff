// A StepLearner with a lock: `auto` learns from the threads that issue a group's operations, and from those that wait
// for them.
// Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/mutex.h"
#include "collectives/scheduler/step_learner.h"

namespace railweave::collectives {

class Learning {
 public:
  // As in StepLearner.
  StepLearner::Issued issued(std::uint64_t what, std::size_t bytes, TimePoint now) {
    const MutexLock lock(mutex_);
    return learner_.issued(what, bytes, now);
  }
  void awaited(std::uint64_t number) {
    const MutexLock lock(mutex_);
    learner_.awaited(number);
  }

 private:
  Mutex mutex_;
  StepLearner learner_ RW_GUARDED_BY(mutex_);
};

}  // namespace railweave::collectives

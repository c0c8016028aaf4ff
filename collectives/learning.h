// What `auto` learns of a group's steps, from the threads that issue its operations and those that wait for them.
// Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>

#include "collectives/scheduler/step_learner.h"

namespace railweave::collectives {

class Learning {
 public:
  // As StepLearner's.
  StepLearner::Issued issued(std::uint64_t what, std::size_t bytes, TimePoint now) {
    const std::lock_guard lock(mutex_);
    return learner_.issued(what, bytes, now);
  }
  void awaited(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    learner_.awaited(number);
  }

 private:
  std::mutex mutex_;
  StepLearner learner_;                    // guarded by mutex_
};

}  // namespace railweave::collectives

// The Work of an EngineGroup.
//
// Threads: any, unless a function says otherwise.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "collectives/exec/runner.h"
#include "collectives/group/group.h"
#include "collectives/group/learning.h"
#include "collectives/group/operation_trace.h"
#include "collectives/shared_memory/shm_queue.h"

namespace railweave::collectives {

// State that the works of a group share; outlives the group.
struct WorkOrigin {
  std::shared_ptr<Runner> runner;
  std::weak_ptr<Group> group;
  std::shared_ptr<ShmQueue> queue;  // of operations on a shm exchange; else null
  std::string group_name;           // in traces
};

class OperationWork final : public Work {
 public:
  explicit OperationWork(std::shared_ptr<const WorkOrigin> origin) : origin_(std::move(origin)) {}

  bool test() override;
  Status wait(Nanos timeout) override;
  void abort() override;
  void when_over(std::function<void(const Status&)> callback) override;
  Status status() const override;
  int source() const override { return over() ? source_ : -1; }
  std::size_t bytes() const override { return over() ? bytes_ : 0; }

  // Begins the operation's trace record. Call while a trace is on, before another thread has the work. `what`, `bytes`:
  // as OperationTrace::issued().
  void issued(Fingerprint what, std::uint64_t bytes, Priority priority) {
    trace_.issued(what, trace::number_of(origin_->group_name), bytes, priority);
  }
  // Makes wait() report operation `number` to `learning`. Call before another thread has the work.
  void report_wait_to(std::shared_ptr<Learning> learning, std::uint64_t number) {
    learning_ = std::move(learning);
    number_ = number;
  }
  // The operation may move bytes from now on. Serialise live() and finish().
  void live() { trace_.live(); }

  // True if wait() was called before the operation was over.
  bool awaited() const { return awaited_.load(std::memory_order_relaxed); }
  bool over() const { return over_.load(std::memory_order_acquire); }
  // Ends the operation. Call once. Returns the callbacks that the caller must run, without any lock held.
  std::vector<std::function<void()>> finish(Status status, int source = -1, std::size_t bytes = 0);

 private:
  bool attend(TimePoint deadline);

  const std::shared_ptr<const WorkOrigin> origin_;
  OperationTrace trace_;
  std::shared_ptr<Learning> learning_;  // null: wait() reports nothing
  std::uint64_t number_ = 0;            // of the operation, in learning_
  Status status_;                       // this and the next two: constant once over_
  int source_ = -1;
  std::size_t bytes_ = 0;
  std::atomic<bool> awaited_{false};
  std::atomic<bool> over_{false};
  Mutex mutex_;
  std::vector<std::function<void(const Status&)>> callbacks_ RW_GUARDED_BY(mutex_);
};

}  // namespace railweave::collectives

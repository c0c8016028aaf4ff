// The Work of a group over an engine.
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

// What works of a group have in common; outlives it.
struct TicketOrigin {
  std::shared_ptr<Runner> runner;
  std::weak_ptr<Group> group;
  std::shared_ptr<ShmQueue> queue;  // of operations on an exchange; else null
  std::string group_name;           // in traces
};

class OperationWork final : public Work {
 public:
  explicit OperationWork(std::shared_ptr<const TicketOrigin> origin) : origin_(std::move(origin)) {}

  bool test() override;
  Status wait(Nanos timeout) override;
  void abort() override;
  void when_over(std::function<void(const Status&)> callback) override;
  Status status() const override;
  int source() const override { return over() ? source_ : -1; }
  std::size_t bytes() const override { return over() ? bytes_ : 0; }

  // Before anybody else has it, while a trace is on; what that says of it. `bytes`: as OperationTrace's.
  void issued(Fingerprint what, std::uint64_t bytes, Priority priority) {
    trace_.issued(what, trace::number_of(origin_->group_name), bytes, priority);
  }
  // Before anybody else has it: whom its first wait() tells something.
  void record_wait(std::shared_ptr<Learning> learning, std::uint64_t number) {
    learning_ = std::move(learning);
    number_ = number;
  }
  // It may move bytes. Whoever finishes it calls this.
  void live() { trace_.live(); }

  // Somebody was in wait() before it was over.
  bool awaited() const { return awaited_.load(std::memory_order_relaxed); }
  bool over() const { return over_.load(std::memory_order_acquire); }
  // Once. Answers what is to be called now, without any lock held.
  std::vector<std::function<void()>> finish(Status status, int source = -1, std::size_t bytes = 0);

 private:
  bool attend(TimePoint deadline);

  const std::shared_ptr<const TicketOrigin> origin_;
  OperationTrace trace_;
  std::shared_ptr<Learning> learning_;  // may be null
  std::uint64_t number_ = 0;            // there
  Status status_;                       // these three: constant once over_
  int source_ = -1;
  std::size_t bytes_ = 0;
  std::atomic<bool> awaited_{false};
  std::atomic<bool> over_{false};
  Mutex mutex_;
  std::vector<std::function<void(const Status&)>> callbacks_ RW_GUARDED_BY(mutex_);
};

}  // namespace railweave::collectives

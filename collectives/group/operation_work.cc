#include "collectives/group/operation_work.h"

#include <fmt/core.h>

#include "base/clock.h"

namespace railweave::collectives {

bool OperationWork::test() {
  if (origin_->runner->forked()) return true;
  if (origin_->queue && !over()) {
    ShmQueue::Callbacks callbacks;
    (void)origin_->queue->advance(callbacks);
    for (auto& callback : callbacks) callback();
  }
  if (!over()) origin_->runner->drive_once();
  return over();
}

Status OperationWork::status() const {
  if (over()) return status_;
  return origin_->runner->forked() ? Runner::dead_after_fork() : Status();
}

Status OperationWork::wait(Nanos timeout) {
  if (learning_ && !origin_->runner->forked()) learning_->awaited(number_);
  if (over()) return status_;
  awaited_.store(true, std::memory_order_relaxed);
  const OperationTrace::Wait waited(trace_);
  const TimePoint deadline = timeout == Nanos::max() ? TimePoint::max() : deadline_after(timeout);
  if (origin_->queue && attend(deadline)) return status_;
  if (origin_->runner->drive_until([this] { return over(); }, deadline)) return status_;
  if (origin_->runner->forked()) return Runner::dead_after_fork();
  return Status(Code::timed_out, Scope::request,
                fmt::format("the operation is not over after {:g} s", double(timeout.count()) / 1e9));
}

// Drives the exchange alone, for a while. A thread that runs callbacks does not drive, and so is no waiter meanwhile.
bool OperationWork::attend(TimePoint deadline) {
  if (origin_->runner->forked()) return false;
  ShmQueue::Callbacks callbacks;
  do {
    for (auto& callback : callbacks) callback();
    callbacks.clear();
    const Runner::Waiter counted = origin_->runner->count_waiter();
    origin_->queue->attend(*this, deadline, callbacks);
  } while (!callbacks.empty());
  return over();
}

void OperationWork::abort() {
  if (over()) return;
  if (const auto group = origin_->group.lock()) group->abort("aborted by its caller");
}

void OperationWork::when_over(std::function<void(const Status&)> callback) {
  if (origin_->runner->forked()) return callback(status());
  {
    const MutexLock lock(mutex_);
    if (!over()) return callbacks_.push_back(std::move(callback));
  }
  callback(status_);
}

std::vector<std::function<void()>> OperationWork::finish(Status status, int source, std::size_t bytes) {
  trace_.over();
  std::vector<std::function<void()>> calls;
  const MutexLock lock(mutex_);
  status_ = std::move(status);
  source_ = source;
  bytes_ = bytes;
  for (auto& callback : callbacks_) calls.push_back([callback = std::move(callback), why = status_] { callback(why); });
  callbacks_.clear();
  over_.store(true, std::memory_order_release);
  return calls;
}

}  // namespace railweave::collectives

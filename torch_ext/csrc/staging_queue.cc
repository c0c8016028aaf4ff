#include "torch_ext/csrc/staging_queue.h"

#include <chrono>
#include <exception>

#include "base/error.h"
#include "base/service_thread.h"
#include "torch_ext/csrc/thread_end.h"

namespace railweave::torch_ext {
namespace {

// Interval between polls for finished copies, because torch's blocking wait keeps a core busy.
constexpr auto kPoll = std::chrono::microseconds(20);

}  // namespace

StagingQueue::~StagingQueue() {
  end(Status(Code::cancelled, Scope::engine, "the process group is gone"));
  end_its_thread();
}

void StagingQueue::end_its_thread() { end_thread(origin_, pending_); }

void StagingQueue::add(MarkPtr ready, Launch launch) {
  if (origin_.in_child()) return launch({});  // the group itself refuses calls in a forked child
  Status status;
  {
    const MutexLock lock(pending_->mutex);
    status = pending_->ended;
    if (!pending_->waiting.empty() || (status.ok() && ready)) {
      if (pending_->waiting.empty() && !pending_->thread.joinable())
        status = start_service_thread(pending_->thread, "railweave-stage", [pending = pending_] { pending->run(); });
      if (!pending_->waiting.empty() || status.ok()) {
        pending_->waiting.push_back({std::move(ready), std::move(launch)});
        pending_->changed.notify_all();
        return;
      }
    }
  }
  launch(status);
}

void StagingQueue::end(const Status& why) {
  if (origin_.in_child()) return;
  const MutexLock lock(pending_->mutex);
  if (pending_->ended.ok()) pending_->ended = why;
}

void StagingQueue::drain() {
  if (origin_.in_child()) return;
  const MutexLock lock(pending_->mutex);
  if (pending_->thread.get_id() == std::this_thread::get_id()) return;
  pending_->changed.wait(pending_->mutex, [this]() RW_REQUIRES(pending_->mutex) { return pending_->waiting.empty(); });
}

Status StagingQueue::Pending::until_ready(const MarkPtr& ready) {
  for (;;) {
    {
      const MutexLock lock(mutex);
      if (!ended.ok()) return ended;
    }
    try {
      if (!ready || ready->passed()) return {};
    } catch (const std::exception& error) {
      return Status(Code::system, Scope::request, error.what());
    }
    std::this_thread::sleep_for(kPoll);
  }
}

void StagingQueue::Pending::run() {
  MutexLock lock(mutex);
  for (;;) {
    changed.wait(mutex, [this]() RW_REQUIRES(mutex) { return over || !waiting.empty(); });
    if (waiting.empty()) return;
    {
      const Waiting first = std::move(waiting.front());
      lock.unlock();
      first.launch(until_ready(first.ready));
    }
    lock.lock();
    waiting.pop_front();
    changed.notify_all();
  }
}

}  // namespace railweave::torch_ext

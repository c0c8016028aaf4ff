#include "torch_ext/csrc/staging_queue.h"

#include <chrono>
#include <exception>

#include "base/error.h"
#include "collectives/exec/service_thread.h"

namespace railweave::torch_ext {
namespace {

// Interval between polls for finished copies, because torch's blocking wait keeps a core busy.
constexpr auto kPoll = std::chrono::microseconds(20);

}  // namespace

StagingQueue::~StagingQueue() {
  if (origin_.in_child()) {  // a forked child lacks the thread; destroying the condition variable would wait for it
    new std::shared_ptr<Pending>(line_);
    return;
  }
  end(Status(Code::cancelled, Scope::engine, "the process group is gone"));
  {
    const MutexLock lock(line_->mutex);
    line_->over = true;
  }
  line_->changed.notify_all();
  if (!line_->thread.joinable()) return;
  line_->thread.get_id() == std::this_thread::get_id() ? line_->thread.detach() : line_->thread.join();
}

void StagingQueue::add(MarkPtr ready, Launch launch) {
  if (origin_.in_child()) return launch({});  // the group itself refuses calls in a forked child
  Status status;
  {
    const MutexLock lock(line_->mutex);
    status = line_->ended;
    if (!line_->waiting.empty() || (status.ok() && ready)) {
      if (line_->waiting.empty() && !line_->thread.joinable())
        status = collectives::start_service_thread(line_->thread, "railweave-stage", [line = line_] { line->run(); });
      if (!line_->waiting.empty() || status.ok()) {
        line_->waiting.push_back({std::move(ready), std::move(launch)});
        line_->changed.notify_all();
        return;
      }
    }
  }
  launch(status);
}

void StagingQueue::end(const Status& why) {
  if (origin_.in_child()) return;
  const MutexLock lock(line_->mutex);
  if (line_->ended.ok()) line_->ended = why;
}

void StagingQueue::drain() {
  if (origin_.in_child()) return;
  const MutexLock lock(line_->mutex);
  if (line_->thread.get_id() == std::this_thread::get_id()) return;
  line_->changed.wait(line_->mutex, [this]() RW_REQUIRES(line_->mutex) { return line_->waiting.empty(); });
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

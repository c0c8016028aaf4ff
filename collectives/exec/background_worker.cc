#include "collectives/exec/background_worker.h"

#include <utility>

#include "base/service_thread.h"

namespace railweave::collectives {

BackgroundWorker::~BackgroundWorker() {
  if (!thread_.joinable()) return;
  MutexLock lock(queue_->mutex);
  queue_->stopping = true;
  queue_->changed.notify_all();
  const bool over =
      queue_->changed.wait_for(queue_->mutex, kWaitMost, [&]() RW_REQUIRES(queue_->mutex) { return queue_->over; });
  lock.unlock();
  over ? thread_.join() : thread_.detach();
}

Status BackgroundWorker::start() {
  return start_service_thread(thread_, "railweave-ask", [queue = queue_] { queue->run(); });
}

void BackgroundWorker::add(std::function<void()> task) {
  {
    const MutexLock lock(queue_->mutex);
    queue_->tasks.push_back(std::move(task));
  }
  queue_->changed.notify_all();
}

void BackgroundWorker::Tasks::run() {
  MutexLock lock(mutex);
  for (;;) {
    changed.wait(mutex, [&]() RW_REQUIRES(mutex) { return stopping || !tasks.empty(); });
    if (tasks.empty()) break;
    {
      const std::function<void()> task = std::move(tasks.front());
      tasks.pop_front();
      lock.unlock();
      task();
    }
    lock.lock();
  }
  over = true;
  changed.notify_all();
}

}  // namespace railweave::collectives

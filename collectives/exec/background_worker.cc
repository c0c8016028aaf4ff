#include "collectives/exec/background_worker.h"

#include <utility>

#include "collectives/exec/service_thread.h"

namespace railweave::collectives {

BackgroundWorker::~BackgroundWorker() {
  if (!thread_.joinable()) return;
  MutexLock lock(line_->mutex);
  line_->stopping = true;
  line_->changed.notify_all();
  const bool over =
      line_->changed.wait_for(line_->mutex, kWaitMost, [&]() RW_REQUIRES(line_->mutex) { return line_->over; });
  lock.unlock();
  over ? thread_.join() : thread_.detach();
}

Status BackgroundWorker::start() {
  return start_service_thread(thread_, "railweave-ask", [line = line_] { line->run(); });
}

void BackgroundWorker::add(std::function<void()> task) {
  {
    const MutexLock lock(line_->mutex);
    line_->tasks.push_back(std::move(task));
  }
  line_->changed.notify_all();
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

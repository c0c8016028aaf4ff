#include "collectives/exec/errands.h"

#include <utility>

#include "collectives/exec/quiet_thread.h"

namespace railweave::collectives {

Errands::~Errands() {
  if (!thread_.joinable()) return;
  MutexLock lock(line_->mutex);
  line_->stopping = true;
  line_->changed.notify_all();
  const bool over = line_->changed.wait_for(line_->mutex, kWaitMost, [&]() RW_REQUIRES(line_->mutex) { return line_->over; });
  lock.unlock();
  over ? thread_.join() : thread_.detach();
}

Status Errands::start() {
  return start_quietly(thread_, "railweave-ask", [line = line_] { line->run(); });
}

void Errands::add(std::function<void()> errand) {
  {
    const MutexLock lock(line_->mutex);
    line_->errands.push_back(std::move(errand));
  }
  line_->changed.notify_all();
}

void Errands::Line::run() {
  MutexLock lock(mutex);
  for (;;) {
    changed.wait(mutex, [&]() RW_REQUIRES(mutex) { return stopping || !errands.empty(); });
    if (errands.empty()) break;
    {
      const std::function<void()> errand = std::move(errands.front());
      errands.pop_front();
      lock.unlock();
      errand();
    }
    lock.lock();
  }
  over = true;
  changed.notify_all();
}

}  // namespace railweave::collectives

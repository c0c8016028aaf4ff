#include "collectives/errands.h"

#include <utility>

#include "collectives/quiet_thread.h"

namespace railweave::collectives {

Errands::~Errands() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  added_.notify_one();
  if (thread_.joinable()) thread_.join();
}

Status Errands::start() { return start_quietly(thread_, "railweave-ask", [this] { loop(); }); }

void Errands::add(std::function<void()> errand) {
  {
    const std::lock_guard lock(mutex_);
    line_.push_back(std::move(errand));
  }
  added_.notify_one();
}

void Errands::loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    added_.wait(lock, [&] { return stopping_ || !line_.empty(); });
    if (line_.empty()) return;
    {
      const std::function<void()> errand = std::move(line_.front());
      line_.pop_front();
      lock.unlock();
      errand();
    }
    lock.lock();
  }
}

}  // namespace railweave::collectives

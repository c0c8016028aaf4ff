#include "torch_ext/csrc/deadlines.h"

#include <algorithm>
#include <chrono>

#include "base/clock.h"
#include "base/error.h"
#include "collectives/exec/service_thread.h"

namespace railweave::torch_ext {

Deadlines::~Deadlines() {
  if (origin_.in_child()) {  // a forked child lacks the thread; destroying the condition variable would wait for it
    new std::shared_ptr<Clock>(clock_);
    return;
  }
  {
    const MutexLock lock(clock_->mutex);
    clock_->over = true;
  }
  clock_->changed.notify_all();
  if (!clock_->thread.joinable()) return;
  clock_->thread.get_id() == std::this_thread::get_id() ? clock_->thread.detach() : clock_->thread.join();
}

Status Deadlines::expect(TimePoint deadline) {
  if (origin_.in_child()) return {};  // no thread here, and the lock may be held for ever
  const MutexLock lock(clock_->mutex);
  if (deadline >= clock_->next) return {};
  clock_->next = deadline;
  if (!clock_->started) {
    RW_TRY(collectives::start_service_thread(clock_->thread, "railweave-late", [clock = clock_] { clock->run(); }));
    clock_->started = true;
  }
  clock_->changed.notify_all();
  return {};
}

void Deadlines::Clock::run() {
  MutexLock lock(mutex);
  while (!over) {
    const Nanos left = next == TimePoint::max() ? Nanos(std::chrono::hours(1)) : next - now();
    if (left > Nanos{0}) {
      changed.wait_for(mutex, left);
      continue;
    }
    next = TimePoint::max();  // expect() may set a new one meanwhile
    lock.unlock();
    const TimePoint after = end_late();  // the owner may be gone afterwards; then `over` is set
    lock.lock();
    next = std::min(next, after);
  }
}

}  // namespace railweave::torch_ext

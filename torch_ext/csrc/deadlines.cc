#include "torch_ext/csrc/deadlines.h"

#include <algorithm>
#include <chrono>

#include "base/clock.h"
#include "base/error.h"
#include "base/service_thread.h"
#include "torch_ext/csrc/thread_end.h"

namespace railweave::torch_ext {

void Deadlines::end() { end_thread(origin_, timer_); }

Status Deadlines::expect(TimePoint deadline) {
  if (origin_.in_child()) return {};  // no thread here, and the lock may be held for ever
  const MutexLock lock(timer_->mutex);
  if (timer_->over || deadline >= timer_->next) return {};
  timer_->next = deadline;
  if (!timer_->started) {
    RW_TRY(start_service_thread(timer_->thread, "railweave-late", [timer = timer_] { timer->run(); }));
    timer_->started = true;
  }
  timer_->changed.notify_all();
  return {};
}

void Deadlines::Timer::run() {
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

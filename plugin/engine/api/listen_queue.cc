#include "engine/api/listen_queue.h"

#include <algorithm>
#include <utility>

namespace railweave::engine {

// A RecvEnd's destructor takes its session's mutex, so no RecvEnd is destroyed while the queue's mutex is held.

bool ListenQueue::has_room() {
  const MutexLock lock(mutex_);
  return !closed_ && waiting_.size() < kStreamsMax;
}

void ListenQueue::push(std::unique_ptr<RecvEnd> end, SlotBudget::Share slots) {
  const MutexLock lock(mutex_);  // released before the arguments are destroyed
  if (closed_) return;
  Waiting& waiting = waiting_.emplace_back();
  waiting.end = std::move(end);
  waiting.slots = std::move(slots);
}

std::unique_ptr<RecvEnd> ListenQueue::pop() {
  const MutexLock lock(mutex_);
  if (waiting_.empty()) return nullptr;
  const auto live = std::ranges::find_if(waiting_, [](const Waiting& w) { return !w.end->dead(); });
  const auto next = live != waiting_.end() ? live : waiting_.begin();
  std::unique_ptr<RecvEnd> end = std::move(next->end);
  waiting_.erase(next);
  return end;
}

void ListenQueue::drop_dead() {
  std::list<Waiting> dropped;
  const MutexLock lock(mutex_);
  auto dead = std::size_t(std::ranges::count_if(waiting_, [](const Waiting& w) { return w.end->dead(); }));
  for (auto it = waiting_.begin(); dead > kDeadMax;) {
    const auto here = it++;
    if (!here->end->dead()) continue;
    dropped.splice(dropped.end(), waiting_, here);
    --dead;
  }
}

void ListenQueue::close() {
  std::list<Waiting> dropped;
  const MutexLock lock(mutex_);
  closed_ = true;
  dropped.swap(waiting_);
}

}  // namespace railweave::engine

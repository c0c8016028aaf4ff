#include "engine/api/stream_setup.h"

#include <algorithm>
#include <utility>

namespace railweave::engine {

// A SendEnd's destructor takes its session's mutex, so no SendEnd is destroyed while a mutex of this file is held.

void PendingStream::fail(const Status& why) {
  const MutexLock lock(mutex_);
  if (status_.ok() && !opened_) status_ = why;
}

void PendingStream::on_opening(std::shared_ptr<Session> in, std::unique_ptr<SendEnd> end) {
  const MutexLock lock(mutex_);
  session_ = std::move(in);
  end_ = std::move(end);
}

void PendingStream::on_opened() {
  const MutexLock lock(mutex_);
  opened_ = true;
}

void PendingStream::leave_session() {
  std::unique_ptr<SendEnd> dropped;
  const MutexLock lock(mutex_);  // released before `dropped` is destroyed
  dropped = std::move(end_);
  session_.reset();
}

void PendingStream::give_up() {
  std::unique_ptr<SendEnd> dropped;
  {
    const MutexLock lock(mutex_);
    given_up_ = true;
    dropped = std::move(end_);
    session_.reset();
  }
}

bool PendingStream::given_up() {
  const MutexLock lock(mutex_);
  return given_up_;
}

Result<std::unique_ptr<SendEnd>> PendingStream::take() {
  const MutexLock lock(mutex_);
  if (!status_.ok()) return status_;
  if (!opened_) return std::unique_ptr<SendEnd>();
  session_.reset();
  return std::move(end_);
}

std::shared_ptr<Session> PendingStream::session() {
  const MutexLock lock(mutex_);
  return session_;
}

SlotBudget::Share SlotBudget::take() {
  if (taken_.fetch_add(1, std::memory_order_relaxed) < streams_) return Share(this);
  taken_.fetch_sub(1, std::memory_order_relaxed);
  return nullptr;
}

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

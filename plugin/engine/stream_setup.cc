#include "engine/stream_setup.h"

#include <utility>

namespace railweave::engine {

// A SendEnd's destructor takes its session's mutex: never destroy one under ours.

void PendingStream::fail(const Status& why) {
  const std::lock_guard lock(mutex_);
  if (status_.ok() && !opened_) status_ = why;
}

void PendingStream::on_opening(std::shared_ptr<LiveSession> in, std::unique_ptr<SendEnd> end) {
  const std::lock_guard lock(mutex_);
  session_ = std::move(in);
  end_ = std::move(end);
}

void PendingStream::on_opened() {
  const std::lock_guard lock(mutex_);
  opened_ = true;
}

void PendingStream::give_up() {
  std::unique_ptr<SendEnd> dropped;
  {
    const std::lock_guard lock(mutex_);
    given_up_ = true;
    dropped = std::move(end_);
    session_.reset();
  }
}

bool PendingStream::given_up() {
  const std::lock_guard lock(mutex_);
  return given_up_;
}

Result<std::unique_ptr<SendEnd>> PendingStream::take() {
  const std::lock_guard lock(mutex_);
  if (!status_.ok()) return status_;
  if (!opened_) return std::unique_ptr<SendEnd>();
  session_.reset();
  return std::move(end_);
}

std::shared_ptr<LiveSession> PendingStream::session() {
  const std::lock_guard lock(mutex_);
  return session_;
}

bool ListenQueue::has_room() {
  const std::lock_guard lock(mutex_);
  return !closed_ && ends_.size() < kStreamsMax;
}

void ListenQueue::push(std::unique_ptr<RecvEnd> end) {
  std::unique_ptr<RecvEnd> dropped;
  const std::lock_guard lock(mutex_);
  (closed_ ? dropped : ends_.emplace_back()) = std::move(end);
}

std::unique_ptr<RecvEnd> ListenQueue::pop() {
  const std::lock_guard lock(mutex_);
  if (ends_.empty()) return nullptr;
  std::unique_ptr<RecvEnd> end = std::move(ends_.front());
  ends_.pop_front();
  return end;
}

void ListenQueue::close() {
  std::deque<std::unique_ptr<RecvEnd>> dropped;
  const std::lock_guard lock(mutex_);
  closed_ = true;
  dropped.swap(ends_);
}

}  // namespace railweave::engine

#include "engine/api/pending_stream.h"

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

}  // namespace railweave::engine

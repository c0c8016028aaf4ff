#include "engine/api/idle_sessions.h"

#include <utility>

#include "base/clock.h"
#include "base/log.h"

namespace railweave::engine {
namespace {

constexpr Nanos kIdleTime = std::chrono::seconds(10);  // time to open a stream, while there are more than kIdleMax
constexpr std::size_t kIdleMax = 64;                   // so many idle sessions may stay
constexpr std::size_t kIdleAtOnceMax = 1024;           // beyond this number the oldest ends at once

}  // namespace

void IdleSessions::add(const std::shared_ptr<Session>& session) {
  idle_.push_back({session, now()});
  evict();
}

void IdleSessions::stop() {
  if (timer_) reactor_.cancel(std::exchange(timer_, 0));
}

void IdleSessions::evict() {
  std::erase_if(idle_, [](const Idle& i) {
    const auto session = i.session.lock();
    return !session || session->over() || session->used();
  });
  std::size_t out = 0;
  for (; idle_.size() - out > kIdleMax; ++out) {
    const Idle& oldest = idle_[out];
    if (idle_.size() - out <= kIdleAtOnceMax && now() - oldest.since < kIdleTime) break;
    const auto session = oldest.session.lock();
    if (!session) continue;
    if (!std::exchange(warned_, true))
      RW_WARN(net, "more than {} sessions whose peers never opened a stream: they are ended, {}'s first", kIdleMax,
              session->peer());
    session->fail(
        Status(Code::remote, Scope::session, "the session with " + session->peer() + " ended: no stream came"));
  }
  idle_.erase(idle_.begin(), idle_.begin() + std::ptrdiff_t(out));
  if (idle_.size() <= kIdleMax || timer_) return;
  timer_ = reactor_.at(idle_.front().since + kIdleTime, [this] {
    timer_ = 0;
    evict();
  });
}

}  // namespace railweave::engine

#include "engine/runtime/accept_loop.h"

#include <sys/epoll.h>

#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/scope_exit.h"

namespace railweave::engine {
namespace {

using namespace std::chrono_literals;

constexpr Nanos kRetryAfter = 100ms;
constexpr int kAcceptsPerTurn = 64;

}  // namespace

Status AcceptLoop::open(int listener, std::string failure, AcceptOne accept_one) {
  failure_ = std::move(failure);
  accept_one_ = std::move(accept_one);
  RW_TRY(reactor_.add(listener, *this, EPOLLIN));
  listener_ = listener;
  return {};
}

void AcceptLoop::close() {
  if (timer_) reactor_.cancel(std::exchange(timer_, 0));
  if (listener_ >= 0) reactor_.remove(std::exchange(listener_, -1), *this);
}

void AcceptLoop::arm() { reactor_.arm(listener_, *this, EPOLLIN); }

void AcceptLoop::on_ready(std::uint32_t) {
  ScopeExit rearm([this] { arm(); });  // also after std::bad_alloc
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    Result<bool> accepted = accept_one_();
    if (!accepted.ok()) {
      if (!std::exchange(logged_, true))
        RW_WARN(net, "{}, trying again every {} ms: {}", failure_, kRetryAfter / 1ms, accepted.status().message());
      timer_ = reactor_.at(now() + kRetryAfter, [this] {
        timer_ = 0;
        arm();
      });
      return rearm.dismiss();
    }
    logged_ = false;
    if (!*accepted) return;
  }
}

}  // namespace railweave::engine

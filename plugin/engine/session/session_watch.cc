#include "engine/session/session_watch.h"

#include <sys/epoll.h>

#include <algorithm>

#include "base/clock.h"

namespace railweave::engine {
namespace {

using namespace std::chrono_literals;

constexpr Nanos kPollMin = 1ms;  // borrowed; doubles while callers keep polling
constexpr Nanos kPollMax = 16ms;
constexpr Nanos kPace = 500us;  // watched, and data waits for room on the lanes or a poll was cut short
// watched, and the peer owes acknowledgements: the reactor must notice if none arrive
constexpr Nanos kSilencePoll = 50ms;
constexpr std::size_t kBudgetBytes = 4 * MiB;  // of each lane in one turn
constexpr int kTurnsMax = 16;                  // of one session in one poll; then other sessions are served

}  // namespace

SessionWatch::SessionWatch(Reactor& reactor, std::shared_ptr<Session> session)
    : reactor_(reactor), session_(std::move(session)), interval_(kPollMin) {}

SessionWatch::~SessionWatch() {
  if (timer_) reactor_.cancel(timer_);
  // A lane's descriptor is closed when the lane ends: another file may have its number by now.
  for (const Registered& r : registered_)
    if (r.fd >= 0) reactor_.forget(r.fd, *this);
}

// Forgets closed descriptors. Call it before adding new ones: a new descriptor may have a closed one's number.
void SessionWatch::forget_closed() {
  registered_.resize(std::size_t(session_->lane_count()));
  for (std::size_t i = 0; i < registered_.size(); ++i) {
    const LaneDriver& lane = session_->lane(int(i));
    if (registered_[i].generation == lane.generation() && lane.is_open()) continue;
    if (registered_[i].fd >= 0) reactor_.forget(registered_[i].fd, *this);
    registered_[i] = {-1, lane.generation()};
  }
}

void SessionWatch::poll_again_in(Nanos delay) {
  if (timer_) reactor_.cancel(timer_);
  due_ = now() + delay;
  timer_ = reactor_.at(due_, [this] {
    timer_ = 0;
    poll();
  });
}

bool SessionWatch::poll_due_within(Nanos delay) const { return timer_ && due_ <= now() + delay; }

void SessionWatch::poll() {
  // guarded: without memory neither descriptor nor timer may be armed, and the session would not be polled again
  (void)session_->guarded([this] { poll_and_arm(); });
}

void SessionWatch::poll_and_arm() {
  session_->clear_wake();
  session_->poll_lanes();
  if (session_->over()) return;
  if (session_->take_polled()) {
    session_->set_borrowed(true);
    poll_again_in(interval_);
    interval_ = session_->any_lane_is_pending() ? kPollMin : std::min(2 * interval_, kPollMax);
    return;
  }
  interval_ = kPollMin;
  session_->set_borrowed(false);
  const bool quiet = drive_until_quiet();
  poll_again(quiet, arm());
  const TimePoint due = session_->credit_due();
  if (due != TimePoint::max() && !poll_due_within(due - now())) poll_again_in(std::max(Nanos{0}, due - now()));
}

void SessionWatch::poll_again(bool quiet, Armed armed) {
  if (armed == Armed::ready) {
    poll_again_in(Nanos{0});
  } else if (!quiet || armed == Armed::missed || session_->has_work()) {
    poll_again_in(kPace);
  } else if (session_->watches_control()) {
    if (!poll_due_within(protocol::SessionProtocol::kLatePoll)) poll_again_in(protocol::SessionProtocol::kLatePoll);
  } else if (!poll_due_within(kSilencePoll) && (session_->outstanding_bytes() > 0 || session_->is_without_lanes())) {
    poll_again_in(kSilencePoll);
  } else if (!timer_ && session_->is_waited_for()) {
    poll_again_in(PeerHeartbeat::kProbeEvery);
  }
}

// False: another thread holds a lane's claim and may leave work undone, or there is more work than one poll allows.
bool SessionWatch::drive_until_quiet() {
  for (int turn = 0; turn < kTurnsMax; ++turn) {
    const Session::Driven driven = session_->drive(kBudgetBytes, true);
    if (driven.missed) return false;
    if (!driven.moved) return true;
  }
  return false;
}

// Arms each lane's descriptor under the lane's claim. Without the claim another thread could close the lane meanwhile,
// and the descriptor could be another file's.
SessionWatch::Armed SessionWatch::arm() {
  Armed armed = Armed::all;
  forget_closed();
  for (std::size_t i = 0; i < registered_.size(); ++i) {
    LaneDriver& lane = session_->lane(int(i));
    if (!lane.try_claim()) {
      if (armed == Armed::all) armed = Armed::missed;
      continue;
    }
    const LaneDriver::Claim claim(lane, std::adopt_lock);
    const int fd = lane.descriptor();
    if (lane.is_open() && fd < 0 && armed == Armed::all) armed = Armed::missed;  // the wire has none: poll by timer
    if (lane.is_open() && fd >= 0) {
      int& registered = registered_[i].fd;
      if (registered < 0 && reactor_.add(fd, *this, 0).ok()) registered = fd;
      // add() failed for want of memory or watches: poll by timer, and try again
      if (registered < 0 && armed == Armed::all) armed = Armed::missed;
      const short events = registered == fd ? lane.prepare_to_wait() : short(0);
      if (events != 0) {
        reactor_.arm(fd, *this, std::uint32_t(events));  // POLLIN and POLLOUT are EPOLLIN and EPOLLOUT
      } else if (registered == fd) {
        armed = Armed::ready;
      }
    }
  }
  return armed;
}

}  // namespace railweave::engine

#include "engine/session/shutdown.h"

#include <memory>
#include <utility>

#include "base/clock.h"
#include "base/mutex.h"

namespace railweave::engine {
namespace {

constexpr Nanos kShutdownMax = std::chrono::seconds(1);
constexpr Nanos kReactorPatience = std::chrono::seconds(10);  // for a reactor that is busy, or waits for memory
constexpr Nanos kDrainStep = std::chrono::milliseconds(1);
constexpr std::size_t kDrainBytes = 4 * MiB;
constexpr int kDrainTurnsMax = 16;  // a step: a peer that never stops sending must not keep the deadline from coming

// The shutdown of one session.
class SessionShutdown {
 public:
  explicit SessionShutdown(std::shared_ptr<Session> session) : session_(std::move(session)) { session_->say_goodbye(); }

  // True: nothing is left to wait for.
  bool step() {
    for (int turn = 0; turn < kDrainTurnsMax && session_->drive(kDrainBytes, true).moved; ++turn) {
    }
    if (session_->over()) return true;
    if (half_closed_ || session_->has_work() || !session_->goodbye_written() || session_->outstanding_bytes() > 0)
      return false;
    half_closed_ = true;
    for (int i = 0; i < session_->lane_count(); ++i) {
      LaneDriver& lane = session_->lane(i);
      const LaneDriver::Claim claim(lane);
      lane.finish_writing();
    }
    return false;
  }

 private:
  std::shared_ptr<Session> session_;
  bool half_closed_ = false;
};

// A one-time event that one thread waits for and another signals.
class Gate {
 public:
  void open() {
    {
      const MutexLock lock(mutex_);
      open_ = true;
    }
    opened_.notify_all();
  }
  bool wait(Nanos patience) {
    const MutexLock lock(mutex_);
    return opened_.wait_for(mutex_, patience, [this]() RW_REQUIRES(mutex_) { return open_; });
  }

 private:
  Mutex mutex_;
  ConditionVariable opened_;
  bool open_ RW_GUARDED_BY(mutex_) = false;
};

// Opens the gate when the last holder releases it, whether the work is done or not.
struct Leaving {
  explicit Leaving(std::shared_ptr<Gate> out) : gate(std::move(out)) {}
  ~Leaving() { gate->open(); }
  std::shared_ptr<Gate> gate;
  std::vector<SessionShutdown> sessions;
  TimePoint deadline;
};

void step(Reactor& reactor, std::shared_ptr<Leaving> leaving) {
  std::erase_if(leaving->sessions, [](SessionShutdown& s) { return s.step(); });
  if (leaving->sessions.empty() || now() >= leaving->deadline) return;
  reactor.at(now() + kDrainStep, [&reactor, leaving] { step(reactor, leaving); });
}

}  // namespace

// A task that finds no memory is dropped; its gate opens then, too.
void shut_down(Reactor& reactor, std::function<std::vector<std::shared_ptr<Session>>()> stop,
               std::function<void()> close) {
  auto gone = std::make_shared<Gate>();
  auto leaving = std::make_shared<Leaving>(gone);
  reactor.run_soon([&reactor, stop = std::move(stop), leaving = std::move(leaving)] {
    for (auto& session : stop()) leaving->sessions.emplace_back(std::move(session));
    leaving->deadline = now() + kShutdownMax;
    step(reactor, leaving);
  });
  (void)gone->wait(kReactorPatience);
  auto closed = std::make_shared<Gate>();
  reactor.run_soon([close = std::move(close), last = std::make_shared<Leaving>(closed)] { close(); });
  (void)closed->wait(kReactorPatience);
}

}  // namespace railweave::engine

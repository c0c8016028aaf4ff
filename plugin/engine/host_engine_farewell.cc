// Leaving in peace: GOODBYE with the last acks, half-close, drain, close (decision D4, endings). Bounded.
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "engine/host_engine.h"

namespace railweave::engine {
namespace {

constexpr Nanos kFarewellMax = std::chrono::seconds(1);
constexpr Nanos kPatience = std::chrono::seconds(10);   // with a reactor that is busy, or waits for memory
constexpr Nanos kStep = std::chrono::milliseconds(1);
constexpr std::size_t kBudgetBytes = 4 * MiB;
constexpr int kTurnsMax = 16;                   // a peer that never stops sending must not stop the clock

// One session's way out.
class Farewell {
 public:
  explicit Farewell(std::shared_ptr<LiveSession> session) : session_(std::move(session)) { session_->say_goodbye(); }

  // True when nothing is left to wait for.
  bool step() {
    for (int turn = 0; turn < kTurnsMax && session_->drive(kBudgetBytes, true).moved; ++turn) {
    }
    if (session_->over()) return true;
    if (half_closed_ || session_->has_work() || !session_->goodbye_written() || session_->outstanding_bytes() > 0) return false;
    half_closed_ = true;
    for (int i = 0; i < session_->lane_count(); ++i) {
      const auto claim = session_->lane(i).claimed();
      session_->lane(i).finish_writing();
    }
    return false;
  }

 private:
  std::shared_ptr<LiveSession> session_;
  bool half_closed_ = false;
};

// What one thread waits for and another does.
class Gate {
 public:
  void open() {
    {
      const std::lock_guard lock(mutex_);
      open_ = true;
    }
    opened_.notify_all();
  }
  bool wait(Nanos patience) {
    std::unique_lock lock(mutex_);
    return opened_.wait_for(lock, patience, [this] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
};

// Opens the gate when its last holder is gone, done or not.
struct Leaving {
  explicit Leaving(std::shared_ptr<Gate> out) : gate(std::move(out)) {}
  ~Leaving() { gate->open(); }
  std::shared_ptr<Gate> gate;
  std::vector<Farewell> sessions;
  TimePoint deadline;
};

void step(Reactor& reactor, std::shared_ptr<Leaving> leaving) {
  std::erase_if(leaving->sessions, [](Farewell& f) { return f.step(); });
  if (leaving->sessions.empty() || now() >= leaving->deadline) return;
  reactor.at(now() + kStep, [&reactor, leaving] { step(reactor, leaving); });
}

}  // namespace

// The tasks may find no memory and be given up: the gate opens then, too, and what they left is closed without ceremony.
void HostEngine::say_farewell() {
  auto gone = std::make_shared<Gate>();
  auto leaving = std::make_shared<Leaving>(gone);
  reactor_.run_soon([this, leaving = std::move(leaving)] {
    leaving_ = true;
    doors_.close();
    local_door_.close();
    stats_door_.close();
    link_watch_.close();
    incoming_.clear();
    unconfirmed_.clear();
    if (idle_timer_) reactor_.cancel(std::exchange(idle_timer_, 0));
    rail_logs_.clear();
    absent_rails_.clear();
    upkeeps_.clear();
    knocks_.clear();
    std::map<PeerKey, std::unique_ptr<Dial>> dials;
    {
      const std::lock_guard lock(table_mutex_);
      dials.swap(dials_);
      for (auto& [key, session] : sessions_) leaving->sessions.emplace_back(session);
    }
    for (auto& [key, dial] : dials)
      for (auto& waiter : dial->take_waiters()) waiter->fail(ended_);
    leaving->deadline = now() + kFarewellMax;
    step(reactor_, leaving);
  });
  (void)gone->wait(kPatience);
  auto closed = std::make_shared<Gate>();
  reactor_.run_soon([this, last = std::make_shared<Leaving>(closed)] {
    watches_.clear();
    close_all_lanes();
  });
  (void)closed->wait(kPatience);
}

// Walks by key: a copy of the table would need memory.
void HostEngine::close_all_lanes() {
  std::shared_ptr<LiveSession> session;
  for (std::optional<PeerKey> after;;) {
    {
      const std::lock_guard lock(table_mutex_);
      const auto it = after ? sessions_.upper_bound(*after) : sessions_.begin();
      if (it == sessions_.end()) return;
      after = it->first;
      session = it->second;
    }
    session->close_lanes();
  }
}

}  // namespace railweave::engine

// Leaving in peace: GOODBYE with the last acks, half-close, drain, close (decision D4, endings). Bounded.
#include <future>
#include <memory>
#include <set>

#include "base/clock.h"
#include "engine/host_engine.h"

namespace railweave::engine {
namespace {

constexpr Nanos kFarewellMax = std::chrono::seconds(1);
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
    if (half_closed_ || !session_->goodbye_written() || session_->outstanding_bytes() > 0) return false;
    half_closed_ = true;
    for (int i = 0; i < session_->lane_count(); ++i) {
      session_->lane(i).claim();
      session_->lane(i).finish_writing();
      session_->lane(i).release();
    }
    return false;
  }

 private:
  std::shared_ptr<LiveSession> session_;
  bool half_closed_ = false;
};

struct Leaving {
  std::vector<Farewell> sessions;
  TimePoint deadline;
  std::promise<void> done;
};

void step(Reactor& reactor, std::shared_ptr<Leaving> leaving) {
  std::erase_if(leaving->sessions, [](Farewell& f) { return f.step(); });
  if (leaving->sessions.empty() || now() >= leaving->deadline) return leaving->done.set_value();
  reactor.at(now() + kStep, [&reactor, leaving] { step(reactor, leaving); });
}

}  // namespace

void HostEngine::say_farewell() {
  auto leaving = std::make_shared<Leaving>();
  std::future<void> done = leaving->done.get_future();
  reactor_.run_soon([this, leaving] {
    leaving_ = true;
    doors_.close();
    local_door_.close();
    stats_door_.close();
    incoming_.clear();
    std::map<PeerKey, std::unique_ptr<Dial>> dials;
    {
      const std::lock_guard lock(table_mutex_);
      dials.swap(dials_);
      for (auto& [key, session] : sessions_) leaving->sessions.emplace_back(session);
    }
    for (auto& [key, dial] : dials)
      for (auto& waiter : dial->take_waiters()) waiter->fail(Status(Code::cancelled, Scope::engine, "the engine ended"));
    leaving->deadline = now() + kFarewellMax;
    step(reactor_, leaving);
  });
  done.wait();
  std::promise<void> closed;
  reactor_.run_soon([this, &closed] {
    watches_.clear();
    std::map<PeerKey, std::shared_ptr<LiveSession>> sessions;
    {
      const std::lock_guard lock(table_mutex_);
      sessions = sessions_;
    }
    for (auto& [key, session] : sessions) session->close_lanes();
    closed.set_value();
  });
  closed.get_future().wait();
}

}  // namespace railweave::engine

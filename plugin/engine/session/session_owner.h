// Where a session turns with what concerns the whole engine.
//
// Threads: any, unless a function says otherwise. No function is called with the session's mutex held. wake_for(),
// on_unanswered() and warns_of_unused() may be called with a lane's claim held.
#pragma once

#include <cstdint>
#include <memory>

#include "base/clock.h"
#include "engine/credit/lane_credit.h"
#include "railweave/status.h"

namespace railweave::engine {

class ListenQueue;
class Session;
struct PendingStream;

// What a session asks of the reactor's thread. Each flag is taken once.
struct SessionWants {
  bool poll = false;         // there is work, and perhaps no caller polls
  bool retire = false;       // the session is over: its lanes are to be closed, and its record removed
  bool lanes = false;        // a lane was lost and others are left, or a lane may yet come; or the peer is silent
  bool apply_rails = false;  // the peer said something of its rails: drain_rail_updates()
};

class SessionOwner {
 public:
  // The clock of its sessions: all that they do is timed by it. Outlives them.
  virtual const Clock& clock() const { return monotonic_clock(); }
  // The listener an OPEN names, or null.
  virtual std::shared_ptr<ListenQueue> find_listener(std::uint32_t id) = 0;
  // The credit of a new lane by our rail; null: its sender is not bounded. Reactor's thread.
  virtual std::unique_ptr<LaneCredit> credit_on(int /*rail*/) { return {}; }
  // A lane that was begun stands. Reactor's thread.
  virtual void on_lane_came(std::shared_ptr<Session> /*session*/) {}
  // Whether the end of a session without any stream is to be told at WARN: strangers may not fill the log.
  virtual bool warns_of_unused() { return true; }
  // Whether one more line at WARN of a peer that falls silent, or answers again, fills no log. Reactor's thread.
  virtual bool may_warn_of_silence(bool /*is_silent*/) { return true; }
  // The session ended before the peer said anything in it; `pending` waits for a stream and may find another session.
  virtual void on_unanswered(std::shared_ptr<PendingStream> pending, const Status& why) = 0;
  // There is work and perhaps no caller polls: have the reactor call on_wake(). Neither allocates nor locks.
  virtual void wake_for(std::shared_ptr<Session> session) noexcept = 0;
  // The reactor has come. Its thread. `wants`: all that the session asked for since the last time.
  virtual void on_woken(Session& session, const SessionWants& wants) = 0;

 protected:
  ~SessionOwner() = default;
};

}  // namespace railweave::engine

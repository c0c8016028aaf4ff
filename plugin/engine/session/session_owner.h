// The engine as its sessions see it: what a session needs of the whole engine.
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

// What a session asks of the reactor's thread. Taking a flag clears the flag.
struct SessionWants {
  bool poll = false;         // there is work, and perhaps no caller polls
  bool retire = false;       // the session is over: close its lanes, and remove its record
  bool lanes = false;        // a lane was lost and others are left or may come; or the peer is silent
  bool apply_rails = false;  // the peer announced changes of its rails: drain_rail_updates()
};

class SessionOwner {
 public:
  // The clock that the owner's sessions read. Outlives these sessions.
  virtual const Clock& clock() const { return monotonic_clock(); }
  // Returns the listener that an OPEN frame names, or null.
  virtual std::shared_ptr<ListenQueue> find_listener(std::uint32_t id) = 0;
  // Returns the credit of a new lane on our rail; null: the peer's sending is not bounded. Reactor's thread.
  virtual std::unique_ptr<LaneCredit> credit_on(int /*rail*/) { return {}; }
  // A lane that was begun is open. Reactor's thread.
  virtual void on_lane_came(std::shared_ptr<Session> /*session*/) {}
  // Whether to log the end of a session without streams at WARN. The engine bounds the number of these lines, so that
  // unauthenticated peers cannot fill the log.
  virtual bool warns_of_unused() { return true; }
  // Whether to log at WARN that a peer fell silent, or answers again. The engine bounds these lines, too. Reactor's
  // thread.
  virtual bool may_warn_of_silence(bool /*is_silent*/) { return true; }
  // The session ended with `why` before the peer said anything in it. `pending` waits for a stream, which another
  // session may open.
  virtual void on_unanswered(std::shared_ptr<PendingStream> pending, const Status& why) = 0;
  // There is work and perhaps no caller polls: has the reactor call session->on_wake(). Neither allocates nor locks.
  virtual void wake_for(std::shared_ptr<Session> session) noexcept = 0;
  // The reactor woke the session. Reactor's thread. `wants`: all that the session asked for since the last call.
  virtual void on_woken(Session& session, const SessionWants& wants) = 0;

 protected:
  ~SessionOwner() = default;
};

}  // namespace railweave::engine

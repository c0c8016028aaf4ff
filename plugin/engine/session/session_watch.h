// The reactor's side of one session: drives the lanes whenever no caller does (decision D5).
//
//   borrowed   callers poll. Descriptors are disarmed. poll() runs by timer, until no caller polled between two runs
//   watched    no caller polls. Descriptors are armed. poll() runs by readiness, wake_for(), or timer while data waits
//
// Threads: the reactor's only.
#pragma once

#include <memory>
#include <vector>

#include "engine/runtime/reactor.h"
#include "engine/session/session.h"

namespace railweave::engine {

class SessionWatch final : public Pollable {
 public:
  SessionWatch(Reactor& reactor, std::shared_ptr<Session> session);
  ~SessionWatch();

  const std::shared_ptr<Session>& session() const { return session_; }
  // Drives the session unless callers do, then arms descriptors and timer; lanes added since the last call included.
  void poll();

 private:
  void on_ready(std::uint32_t) override { poll(); }
  void poll_and_arm();
  void poll_again_in(Nanos delay);
  bool poll_due_within(Nanos delay) const;
  bool drive_until_quiet();
  // missed: some lane is not armed, poll it by timer; ready: some lane has something to do already.
  enum class Armed { all, missed, ready };
  void poll_again(bool quiet, Armed armed);
  Armed arm();

  Reactor& reactor_;
  const std::shared_ptr<Session> session_;
  struct Registered {
    int fd = -1;  // -1: not registered
    std::uint32_t generation = 0;
  };
  void forget_closed();
  std::vector<Registered> registered_;  // by place
  Reactor::TimerId timer_ = 0;          // 0: not set
  TimePoint due_{};                     // the timer's time; valid while the timer is set
  Nanos interval_;                      // between two polls while borrowed
};

}  // namespace railweave::engine

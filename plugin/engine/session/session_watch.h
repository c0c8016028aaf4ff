// The reactor's side of one session: it drives the lanes whenever no caller does (decision D5).
//
//   borrowed   callers poll. Descriptors are disarmed; poll() comes by timer, and hands back when nobody polled since
//   watched    nobody polls. Descriptors are armed; poll() comes by readiness, by wake_for(), by timer while data waits
//
// On the reactor's thread only.
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
  // Also sees lanes that were added since.
  void poll();

 private:
  void on_ready(std::uint32_t) override { poll(); }
  void poll_and_arm();
  void poll_again_in(Nanos delay);
  bool polls_within(Nanos delay) const;
  bool drive_until_quiet();
  enum class Armed { all, missed, ready };
  void poll_again(bool quiet, Armed armed);
  Armed arm();

  Reactor& reactor_;
  const std::shared_ptr<Session> session_;
  struct Registered {
    int fd = -1;  // -1: not yet
    std::uint32_t generation = 0;
  };
  void forget_closed();
  std::vector<Registered> registered_;  // by lane index
  Reactor::TimerId timer_ = 0;
  TimePoint due_{};  // when the timer is set: its time
  Nanos interval_;   // of looks while borrowed
};

}  // namespace railweave::engine

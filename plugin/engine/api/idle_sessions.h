// Sessions that peers began and have opened no stream in. Peers that want no stream only hold our descriptors. Ends the
// oldest of these sessions if there are too many: 64 older than 10 s, or 1024. Threads: the reactor's only.
#pragma once

#include <memory>
#include <vector>

#include "engine/runtime/reactor.h"
#include "engine/session/session.h"

namespace railweave::engine {

class IdleSessions {
 public:
  explicit IdleSessions(Reactor& reactor) : reactor_(reactor) {}
  ~IdleSessions() { stop(); }

  // A peer began `session`. Ends the oldest sessions if there are too many.
  void add(const std::shared_ptr<Session>& session);
  // Ends no session from now on.
  void stop();

 private:
  struct Idle {
    std::weak_ptr<Session> session;
    TimePoint since;
  };
  void evict();

  Reactor& reactor_;
  std::vector<Idle> idle_;  // oldest first
  Reactor::TimerId timer_ = 0;
  bool warned_ = false;
};

}  // namespace railweave::engine

// Sessions that peers began and have opened no stream in. A peer dials because it wants a stream; many that want none
// only hold our descriptors, so the oldest of too many are ended. Reactor's thread only.
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

  // A peer began it. Ends the oldest of too many.
  void add(const std::shared_ptr<Session>& session);
  // None is ended from now on.
  void stop();

 private:
  struct Idle {
    std::weak_ptr<Session> session;
    TimePoint since;
  };
  void evict();

  Reactor& reactor_;
  std::vector<Idle> idle_;  // the oldest first
  Reactor::TimerId timer_ = 0;
  bool warned_ = false;
};

}  // namespace railweave::engine

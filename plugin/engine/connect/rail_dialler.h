// Dials a session's lanes by the rails of this host: a connection, the handshake on it, and the wire that both ends
// agree on.
//
// Threads: the reactor's only. Lifetime: outlives the joins that it began.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "engine/connect/handshake.h"
#include "engine/connect/hello.h"
#include "engine/connect/identity.h"
#include "engine/connect/lane_dialler.h"
#include "engine/connect/new_lane.h"
#include "engine/runtime/reactor.h"
#include "engine/session/session.h"

namespace railweave::engine {

class RailDialler final : public LaneDialler {
 public:
  // Takes a lane whose handshake is over.
  using Joined = std::function<void(Session& session, NewLane lane)>;
  // `reactor`, `self` and `session` outlive the dialler.
  RailDialler(Reactor& reactor, const Identity& self, const InstanceId& peer, int traffic_class, Session& session,
              Joined joined);

  Result<std::unique_ptr<Join>> join(const JoinOrder& order, Answered answered) override;
  std::string why_no_route(int rail, const Route& route) override;
  bool has_better_wire(int rail, const std::string& wire) override;

 private:
  class RailJoin;

  Hello hello(const JoinOrder& order) const;
  JoinAnswer answer_of(const Handshake::Outcome& outcome, const JoinOrder& order, const std::string& what) const;
  std::string what_is_wrong(const Hello& welcome, const JoinOrder& order, const std::string& what) const;
  const Rail& own(const JoinOrder& order) const { return (*self_.rails)[std::size_t(order.rails.local)]; }

  Reactor& reactor_;
  const Identity& self_;
  const InstanceId peer_;
  const int traffic_class_;
  Session& session_;
  const Joined joined_;
};

}  // namespace railweave::engine

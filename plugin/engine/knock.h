// Whether a peer whose lanes are all gone is still there: asked by the side that does not dial, which would otherwise wait for
// a lane that nobody is left to dial (docs/reliability.md, "Who sees to it that there are lanes").
//
// It joins with lane 0, which every session has had: who still serves the session refuses that as a duplicate. A kernel that
// refuses the connection, or an instance that does not know the session, ends it.
//
// On the reactor's thread only. Destroying it gives up what is being asked.
#pragma once

#include <memory>
#include <vector>

#include "engine/dial.h"
#include "engine/handshake.h"
#include "engine/live_session.h"

namespace railweave::engine {

class Knock {
 public:
  // `self` outlives it.
  Knock(Reactor& reactor, const Identity& self, const InstanceId& peer, int traffic_class, std::shared_ptr<LiveSession> session,
        std::vector<PeerRail> peer_rails);
  ~Knock();

  void on_peer_rail(int rail, PeerRail is);
  // Where the session is without lanes: asks by each pair of rails that carried one, and again until there is an answer.
  void look();

 private:
  static constexpr Nanos kPatience = std::chrono::seconds(3);
  static constexpr Nanos kEvery = std::chrono::seconds(1);

  void ask(const RailPair& rails);
  void on_answer(const Handshake* asked, const Handshake::Outcome& outcome);

  Reactor& reactor_;
  const Identity& self_;
  const InstanceId peer_;
  const int traffic_class_;
  const std::shared_ptr<LiveSession> session_;
  std::vector<PeerRail> peer_rails_;
  std::vector<std::unique_ptr<Handshake>> asked_;  // under way
  Reactor::TimerId timer_ = 0;
};

}  // namespace railweave::engine

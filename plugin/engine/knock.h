// What the side that does not dial can do for its lanes (docs/reliability.md, "Who sees to it that there are lanes"). Where all are
// gone it asks whether the peer is still there: nobody else might be left to dial one. Where none is heard it makes the peer look,
// who may owe nothing, and then has not noticed.
//
// It tells its rails, whose addresses may all have changed. It joins with lane 0, which every session has had: who still serves the session refuses that as a duplicate (and
// LaneUpkeep::on_knock()). An instance that does not know the session ends it, and so does a kernel that refuses the connection, if the
// pair of rails carried before and has no lane that may yet be heard.
//
// On the reactor's thread only. Destroying it gives up what is being asked.
#pragma once

#include <memory>
#include <vector>

#include "engine/dial.h"
#include "engine/family_choice.h"
#include "engine/handshake.h"
#include "engine/live_session.h"
#include "engine/rail_pairs.h"

namespace railweave::engine {

class Knock {
 public:
  // `self` outlives it.
  Knock(Reactor& reactor, const Identity& self, const InstanceId& peer, int traffic_class, std::shared_ptr<LiveSession> session,
        std::vector<PeerRail> peer_rails);
  ~Knock();

  void on_peer_rail(int rail, PeerRail is);
  // The session has a lane that stands: whoever is being asked need not answer.
  void on_lane();
  // Where the session is without lanes: asks by each pair of rails that carried one; where none is heard, by any, in turn. And again
  // until that is over.
  void look();

 private:
  static constexpr std::size_t kAskedMax = 64;                    // at once
  static constexpr Nanos kSoon = std::chrono::milliseconds(100);  // a dying process may reset what asks, too
  static constexpr Nanos kEvery = std::chrono::seconds(1);        // the pause doubles up to that

  void ask(const RailPair& rails, Nanos time);
  void on_answer(const Handshake* asked, const RailPair& rails, const Handshake::Outcome& outcome);

  Reactor& reactor_;
  const Identity& self_;
  const InstanceId peer_;
  const int traffic_class_;
  const std::shared_ptr<LiveSession> session_;
  std::vector<PeerRail> peer_rails_;
  std::vector<std::unique_ptr<Handshake>> asked_;  // under way
  FamilyChoice families_;
  std::size_t turn_ = 0;                           // of the pairs
  Nanos pause_ = kSoon;
  Reactor::TimerId timer_ = 0;
};

}  // namespace railweave::engine

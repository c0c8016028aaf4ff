// What the side that does not dial can do for its lanes (docs/operate/reliability.md, "Who sees to it that there are
// lanes"). Where all are gone it asks whether the peer is still there: nobody else might be left to dial one. Where
// none is heard it makes the peer look, who may owe nothing, and then has not noticed.
//
// A probe tells the peer our rails, whose addresses may all have changed. A probe is a join with lane 0, which every
// session has had: a peer that still serves the session refuses the join as a duplicate and calls
// LaneReconciler::on_probe(). SessionHealth judges every other answer.
//
// Needs neither a reactor nor sockets (lane_dialler.h). The thread of the session's poll() only. Destroying it gives up
// what is being asked.
#pragma once

#include <memory>
#include <vector>

#include "engine/connect/lane_dialler.h"
#include "engine/reconcile/family_choice.h"
#include "engine/reconcile/rail_pairs.h"

namespace railweave::engine {

class PeerProbe {
 public:
  // `peer_rails`: as the peer told them.
  PeerProbe(const SessionAccess& session, std::vector<PeerRail> peer_rails);
  ~PeerProbe();

  void on_peer_rail(int rail, PeerRail is);
  // The session has a lane that stands: whoever is being asked need not answer.
  void on_lane();
  // Where the session is without lanes: asks by each pair of rails that carried one; where none is heard, by any, in
  // turn. And again until that is over.
  void poll();

 private:
  static constexpr std::size_t kAskedMax = 64;                    // at once
  static constexpr Nanos kSoon = std::chrono::milliseconds(100);  // a dying process may reset what asks, too
  static constexpr Nanos kEvery = std::chrono::seconds(1);        // the pause doubles up to that

  struct Inquiry {
    RailPair rails;
    std::unique_ptr<Join> join;
  };

  void ask_around();
  void ask(const RailPair& rails, Nanos time);
  void on_answer(const Inquiry& question, const JoinAnswer& answer);
  const Rail& own(const RailPair& rails) const { return rails_[std::size_t(rails.local)]; }

  Timers& timers_;
  LaneDialler& dialler_;
  SessionLanes& lanes_;
  const std::vector<Rail>& rails_;  // ours
  std::vector<PeerRail> peer_rails_;
  std::vector<std::unique_ptr<Inquiry>> asked_;  // under way
  FamilyChoice families_;
  std::size_t turn_ = 0;  // of the pairs
  Nanos pause_ = kSoon;
  Timers::TimerId timer_ = 0;
};

}  // namespace railweave::engine

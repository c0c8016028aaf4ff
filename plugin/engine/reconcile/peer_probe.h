// Sends peer probes, for the side of a session that does not dial lanes (docs/operate/reliability.md, "Who sees to it
// that there are lanes"). Without a lane, a probe asks whether the peer, which alone dials lanes, still serves the
// session. If no lane is heard, a probe makes the dialler look at its lanes. A dialler that awaits no acknowledgement
// has not noticed that its lanes are dead.
//
// A probe announces our rails, whose addresses may all have changed. A probe is a join with lane 0, which every session
// has had: a peer that still serves the session refuses the join as a duplicate and calls LaneReconciler::on_probe().
// SessionHealth judges every other answer.
//
// Needs neither a reactor nor sockets (lane_dialler.h). Threads: the thread of the session's poll() only. Destroying
// the object cancels its probes.
#pragma once

#include <memory>
#include <vector>

#include "engine/connect/lane_dialler.h"
#include "engine/reconcile/family_choice.h"
#include "engine/reconcile/rail_pairs.h"

namespace railweave::engine {

class PeerProbe {
 public:
  // `peer_rails`: as the peer announced them.
  PeerProbe(const SessionAccess& session, std::vector<PeerRail> peer_rails);
  ~PeerProbe();

  void on_peer_rail(int rail, PeerRail is);
  // The session has an established lane: probes under way are cancelled.
  void on_lane();
  // Probes by each pair that carried a lane while there is no lane, and by every pair in turn while no lane is heard.
  // Repeats until neither holds.
  void poll();

 private:
  static constexpr std::size_t kUnderWayMax = 64;  // probes at once
  // the first pause: a dying process may reset a probe, too
  static constexpr Nanos kSoon = std::chrono::milliseconds(100);
  static constexpr Nanos kEvery = std::chrono::seconds(1);  // limit of the pause, which doubles

  struct Probe {
    RailPair rails;
    std::unique_ptr<Join> join;
  };

  void send_probes();
  void send_probe(const RailPair& rails, Nanos time);
  void on_answer(const Probe& probe, const JoinAnswer& answer);
  const Rail& own(const RailPair& rails) const { return rails_[std::size_t(rails.local)]; }

  Timers& timers_;
  LaneDialler& dialler_;
  SessionLanes& lanes_;
  const std::vector<Rail>& rails_;  // ours
  std::vector<PeerRail> peer_rails_;
  std::vector<std::unique_ptr<Probe>> under_way_;
  FamilyChoice families_;
  std::size_t turn_ = 0;  // index of the next pair to probe, modulo their number
  Nanos pause_ = kSoon;
  Timers::TimerId timer_ = 0;
};

}  // namespace railweave::engine

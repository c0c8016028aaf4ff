// LaneKeeping does for the lanes of a session what its two engines do (engine/api/peer_sessions). The end that dials
// has the shipped LaneReconciler, the other the shipped PeerProbe, each with the timers of its process and a dialler of
// simulated lanes. The shipped classes decide which lanes are dialled and retired; a world may retire one more lane of
// a pair (forced_retirement.h).
#pragma once

#include <memory>

#include "engine/rails/logged_absences.h"
#include "engine/reconcile/lane_reconciler.h"
#include "engine/reconcile/peer_probe.h"
#include "tests/sim/end_timers.h"
#include "tests/sim/forced_retirement.h"
#include "tests/sim/session_end.h"
#include "tests/sim/sim_dialler.h"
#include "wire/sim/network.h"

namespace railweave::sim {

class LaneKeeping {
 public:
  // `a` dials. Both ends and the LoggedAbsences outlive this object.
  LaneKeeping(wire::SimNetwork& net, SessionEnd& a, SessionEnd& b, int lanes_per_pair, engine::LoggedAbsences& told);
  ~LaneKeeping();
  LaneKeeping(const LaneKeeping&) = delete;
  LaneKeeping& operator=(const LaneKeeping&) = delete;

  // Begins the session's first lane, by rail `rail` of both hosts and at both ends at once.
  void begin(int rail);
  // Polls the LaneReconciler of `a`.
  void poll();
  // The kernel of `end` reported a link.
  void on_link(SessionEnd& end, int rail, bool up);
  // `end` received the state of a rail of the other end.
  void on_peer_rail(const SessionEnd& end, int rail, const engine::PeerRail& is);
  // `end` leaves, or its process ended: it dials and probes no more, and its unfinished joins are closed. stop_soon()
  // does this in a later event, for callers that run inside of what stops.
  void stop(const SessionEnd& end);
  void stop_soon(const SessionEnd& end);
  // Lanes that `a` dialled since the beginning.
  int lanes_dialled() const { return dialler_of_a_.lanes_dialled(); }

  // Retires lanes of `a` against the plan.
  ForcedRetirement& retirement() { return retirement_; }

 private:
  void on_question(const engine::RailPair& by);

  wire::SimNetwork& net_;
  SessionEnd& a_;
  SessionEnd& b_;
  const int lanes_per_pair_;
  engine::LoggedAbsences& logged_absences_;
  EndTimers timers_of_a_, timers_of_b_;
  SimDialler dialler_of_a_, dialler_of_b_;
  std::unique_ptr<engine::LaneReconciler> reconciler_;  // of `a`; null: stopped
  std::unique_ptr<engine::PeerProbe> probe_;            // of `b`; null: stopped
  ForcedRetirement retirement_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace railweave::sim

// What the two engines of a session do for its lanes (engine/api/peer_sessions): the shipped LaneReconciler at the end
// that dialled, the shipped PeerProbe at the other, each with the timers of its process and a dialler of simulated
// lanes. Which lanes are dialled, and which retire, the shipped classes decide; a world may have one more of a pair
// retire (forced_retirement.h).
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
  // `a` dialled. Both ends and `told` outlive it.
  LaneKeeping(wire::SimNetwork& net, SessionEnd& a, SessionEnd& b, int lanes_per_pair, engine::LoggedAbsences& told);
  ~LaneKeeping();
  LaneKeeping(const LaneKeeping&) = delete;
  LaneKeeping& operator=(const LaneKeeping&) = delete;

  // The lane that makes the session, by that rail of both: at both ends at once.
  void begin(int rail);
  // The end `a` looks what is to be done for the lanes.
  void poll();
  // The kernel of `end` told it of a link.
  void on_link(SessionEnd& end, int rail, bool up);
  // The end `end` was told how a rail of the other end is.
  void on_peer_rail(const SessionEnd& end, int rail, const engine::PeerRail& is);
  // The end `end` leaves, or its process ended: it dials and asks nothing any more, and what it had begun is closed.
  // stop_soon() does the same a little later: for callers that what stops may have called.
  void stop(const SessionEnd& end);
  void stop_soon(const SessionEnd& end);
  // By `a`, ever.
  int lanes_dialled() const { return dialler_of_a_.lanes_dialled(); }

  // Retires lanes of `a` by no plan.
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

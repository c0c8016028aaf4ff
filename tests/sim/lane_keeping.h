// What the two engines of a session do for its lanes (engine/api/peer_sessions): the shipped LaneUpkeep at the end that dialled, the shipped Knock at
// the other, each with the timers of its process and a dialler of simulated lanes. Which lanes are dialled, and which retire, the shipped classes
// decide; a world may have one more of a pair retire (forced_retirement.h).
#pragma once

#include <memory>

#include "engine/rails/absence_told.h"
#include "engine/reconcile/knock.h"
#include "engine/reconcile/lane_upkeep.h"
#include "tests/sim/end_timers.h"
#include "tests/sim/forced_retirement.h"
#include "tests/sim/session_end.h"
#include "tests/sim/sim_dialler.h"
#include "wire/sim/network.h"

namespace railweave::sim {

class LaneKeeping {
 public:
  // `a` dialled. Both ends and `told` outlive it.
  LaneKeeping(wire::SimNetwork& net, SessionEnd& a, SessionEnd& b, int lanes_per_pair, engine::AbsenceTold& told);
  ~LaneKeeping();
  LaneKeeping(const LaneKeeping&) = delete;
  LaneKeeping& operator=(const LaneKeeping&) = delete;

  // The lane that makes the session, by that rail of both: at both ends at once.
  void begin(int rail);
  // Of `a`.
  void look();
  // That end's kernel told it of a link.
  void on_link(SessionEnd& end, int rail, bool up);
  // That end was told how a rail of the other one is.
  void on_peer_rail(const SessionEnd& end, int rail, const engine::PeerRail& is);
  // That end leaves, or its process ended: nothing is dialled or asked any more, and what was is closed. stop_soon(): likewise, for whoever is
  // perhaps called by what stops.
  void stop(const SessionEnd& end);
  void stop_soon(const SessionEnd& end);
  // By `a`, ever.
  int lanes_dialled() const { return dialler_of_a_.lanes_dialled(); }

  // Of lanes of `a`, by no plan.
  ForcedRetirement& retirement() { return retirement_; }

 private:
  void on_question(const engine::RailPair& by);

  wire::SimNetwork& net_;
  SessionEnd& a_;
  SessionEnd& b_;
  const int lanes_per_pair_;
  engine::AbsenceTold& told_;
  EndTimers timers_of_a_, timers_of_b_;
  SimDialler dialler_of_a_, dialler_of_b_;
  std::unique_ptr<engine::LaneUpkeep> upkeep_;  // of `a`; null: stopped
  std::unique_ptr<engine::Knock> knock_;        // of `b`; null: stopped
  ForcedRetirement retirement_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace railweave::sim

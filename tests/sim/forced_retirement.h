// Lanes that a world has retire though the plan of the shipped LaneReconciler has them serve: the youngest of a pair,
// until it is gone or called back.
#pragma once

#include <vector>

#include "engine/reconcile/lane_plan.h"
#include "tests/sim/session_end.h"

namespace railweave::sim {

class ForcedRetirement {
 public:
  // `end` dialled the lanes, and outlives this.
  explicit ForcedRetirement(SessionEnd& end) : end_(end) {}

  // The youngest lane of that pair retires; or serves again, as far as the plan lets it; or all of them do. Has effect
  // at LaneReconciler's next look.
  void retire(const engine::RailPair& rails);
  void serve_again(const engine::RailPair& rails);
  void all_serve_again();
  // LaneReconciler says at each look which lanes retire, and that no others do: to be called after each look.
  void say_again();
  // Nothing is said any more: LaneReconciler is gone.
  void stop() { stopped_ = true; }

 private:
  struct Retiring {
    engine::RailPair rails;
    protocol::LaneId lane;
  };

  SessionEnd& end_;
  std::vector<Retiring> retiring_;
  bool stopped_ = false;
};

}  // namespace railweave::sim

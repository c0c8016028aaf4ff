// ForcedRetirement retires lanes that the plan of the shipped LaneReconciler keeps: the youngest lane of a pair, until
// it is gone or called back.
#pragma once

#include <vector>

#include "engine/reconcile/lane_plan.h"
#include "tests/sim/session_end.h"

namespace railweave::sim {

class ForcedRetirement {
 public:
  // `end` dialled the lanes, and outlives this object.
  explicit ForcedRetirement(SessionEnd& end) : end_(end) {}

  // Retire the youngest lane of that pair, or call it back, as far as the plan allows; or call all back. They take
  // effect at the next say_again().
  void retire(const engine::RailPair& rails);
  void serve_again(const engine::RailPair& rails);
  void all_serve_again();
  // Call after each poll of LaneReconciler: a poll states which lanes retire, and calls all others back.
  void say_again();
  // LaneReconciler is gone: say_again() does nothing from now on.
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

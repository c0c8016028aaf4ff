// Bounds an engine's WARN lines about rails. The loss of a rail concerns every peer: the first few peers are named at
// WARN, the others at INFO. Threads: one at a time.
#pragma once

#include <chrono>
#include <map>
#include <utility>

#include "railweave/units.h"

namespace railweave::engine {

class RailWarnBudget {
 public:
  static constexpr int kPeersMost = 4;                        // WARN lines of a kind about a rail, in a kWindow
  static constexpr Nanos kWindow = std::chrono::seconds(10);  // from the first line
  static constexpr int kNoRail = -1;                          // lines about a peer on all rails

  enum class About { loss, comeback };
  // Counts one line. True: log at WARN; false: at INFO.
  bool may_warn(int rail, About about, TimePoint t);

 private:
  struct Window {
    TimePoint since = TimePoint::min();  // the window's begin; min(): no line yet
    int lines = 0;                       // in this window
  };
  std::map<std::pair<int, About>, Window> windows_;
};

}  // namespace railweave::engine

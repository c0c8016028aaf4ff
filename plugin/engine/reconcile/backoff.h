// How long a pair of rails, or a rail, is left alone after a failure: twice as long each time
// (docs/operate/reliability.md, "Who sees to it that there are lanes").
//
// Pure: the caller passes in the time. `jitter` returns 0 to 255 and makes a backoff up to a quarter longer, because
// rails of many sessions come back at once. Threads: one at a time.
#pragma once

#include <algorithm>
#include <functional>

#include "railweave/units.h"

namespace railweave::engine {

class Backoff {
 public:
  using Jitter = std::function<int()>;
  static constexpr Nanos kSteady = std::chrono::seconds(10);  // a lane that lived for this time did not flap

  bool is_on(TimePoint t) const { return until_ > t; }
  TimePoint until() const { return until_; }
  // Returns the length of the last backoff, which the next one doubles. 0: none since the beginning or a reset.
  Nanos last() const { return last_; }

  // Begins a backoff after the loss of a lane that was up since `up_since`. The backoff doubles if the lane lived for
  // less than kSteady, else begins at kLeast. No effect during a backoff: lanes are lost one after the other for one
  // reason. `too_slow`: the lane was given up as too slow. `again`: the lane came after an earlier loss, though no
  // backoff followed that loss.
  void lost(TimePoint t, TimePoint up_since, bool too_slow, const Jitter& jitter, bool again = false);
  // Begins a backoff after a failed try. The limit is lower if the pair or rail `carried` before: it is likelier to
  // come back. No effect during a backoff.
  void failed(TimePoint t, bool carried, const Jitter& jitter);
  // A lane came up. Failed tries since the last loss do not lengthen the next backoff.
  void came_up() { last_ = at_loss_; }
  void end() { until_ = {}; }
  void end_by(TimePoint latest) { until_ = std::min(until_, latest); }

 private:
  static constexpr Nanos kLeast = std::chrono::milliseconds(100);  // the first backoff; starting value
  // limit after failed tries, for a pair or rail that carried
  static constexpr Nanos kMostRefused = std::chrono::seconds(2);
  static constexpr Nanos kMostFlapping = std::chrono::seconds(30);  // limit after losses, or if it never carried
  static constexpr Nanos kSlow = std::chrono::seconds(5);  // first backoff of a lane that was too slow; starting value
  // first backoff of a lane that was too slow just after it came back; starting value
  static constexpr Nanos kSlowBack = std::chrono::seconds(1);
  static constexpr Nanos kJustBack = std::chrono::seconds(3);  // "just after": TCP may take the outage for a round trip

  void begin(TimePoint t, Nanos most, const Jitter& jitter);

  TimePoint until_{};
  Nanos last_{0};
  Nanos at_loss_{0};  // last_ at the last loss
};

}  // namespace railweave::engine

// How long a pair of rails, or a rail, that failed is left alone: twice as long each time (docs/operate/reliability.md,
// "Who sees to it that there are lanes").
//
// Pure: the caller says the time, and `jitter` gives 0 to 255, by which a rest is up to a quarter longer: rails of many
// sessions come back at once.
#pragma once

#include <algorithm>
#include <functional>

#include "railweave/units.h"

namespace railweave::engine {

class Backoff {
 public:
  using Jitter = std::function<int()>;
  static constexpr Nanos kSteady = std::chrono::seconds(10);  // a lane that lived so long did not flap

  bool is_on(TimePoint t) const { return until_ > t; }
  TimePoint until() const { return until_; }
  // How long the last rest was, which the next one doubles. 0: there was none, or all is forgiven.
  Nanos last() const { return last_; }

  // A lane is lost that was up since then: the next rest is the longer, the sooner this was. No effect during a rest:
  // lanes go one after the other, for one reason. `too_slow`: that is why. `again`: the lane came after an earlier
  // loss, though there was no rest.
  void lost(TimePoint t, TimePoint up_since, bool too_slow, const Jitter& jitter, bool again = false);
  // A try failed. What `carried` before is the likelier to come back. No effect during a rest.
  void failed(TimePoint t, bool carried, const Jitter& jitter);
  // Tries that failed since the last loss are no flapping.
  void came_up() { last_ = at_loss_; }
  void end() { until_ = {}; }
  void end_by(TimePoint latest) { until_ = std::min(until_, latest); }

 private:
  static constexpr Nanos kLeast = std::chrono::milliseconds(100);   // start
  static constexpr Nanos kMostRefused = std::chrono::seconds(2);    // of what carried before and does not come up
  static constexpr Nanos kMostFlapping = std::chrono::seconds(30);  // of what does, and goes again, or never carried
  static constexpr Nanos kSlow = std::chrono::seconds(5);           // start, of what was too slow
  // start, of what was too slow just after it came back
  static constexpr Nanos kSlowBack = std::chrono::seconds(1);
  static constexpr Nanos kJustBack = std::chrono::seconds(3);  // so long: TCP may take the outage for a round trip

  void begin(TimePoint t, Nanos most, const Jitter& jitter);

  TimePoint until_{};
  Nanos last_{0};
  Nanos at_loss_{0};  // what last_ was when the last lane was lost
};

}  // namespace railweave::engine

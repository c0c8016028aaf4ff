// Decides whether one rail, ours or the peer's, is to blame for the losses and failures of its pairs, and holds the
// backoff of the rail. All pairs of a rail in backoff together are tried as seldom as one pair would be
// (docs/operate/reliability.md, "Which rail is to blame").
//
// A rail with a lane is not to blame. Without a lane, a rail is *suspect* from the second loss or failure in a row on,
// whatever its partners were: the first backup pair after a loss is tried at once. Backup pairs of a suspect rail take
// turns, and share its backoff. A suspect rail *flaps* when its lanes came up and were lost soon: each such lane holds
// up a transfer. Primary pairs then take turns as well, and a first lane has to live for a while before a second one is
// dialled. A failed try holds up nothing, so primary pairs wait for backoffs after losses only. Otherwise tries of
// backup pairs, which may have no route at all, would delay a rail that works again.
//
// Pure. Threads: one at a time.
#pragma once

#include "engine/reconcile/backoff.h"

namespace railweave::engine {

class RailBackoff {
 public:
  // `lanes`: open lanes of the rail now.
  void see(int lanes, TimePoint t);
  bool has_lanes() const { return lanes_ > 0; }

  // REQUIRES: the rail has no lane. lost(): its last lane was lost; `too_slow`: as too slow. failed(): a try of one of
  // its pairs failed.
  void lost(TimePoint t, bool too_slow, const Backoff::Jitter& jitter);
  void failed(TimePoint t, const Backoff::Jitter& jitter);
  // Ends the backoff and forgets losses and failures: the link is up again, or the interface or its addresses changed.
  void forgive();

  // True: a try of a pair of this rail has to wait for may_try(), and until no other such try is under way.
  // `is_primary`: the pair is a primary pair.
  bool takes_turns(bool is_primary, TimePoint t) const {
    return suspect() && (flaps_ ? !has_lanes() || is_on_trial(t) : !is_primary && !has_lanes());
  }
  bool may_try(bool is_primary, TimePoint t) const {
    return !has_lanes() && !(is_primary ? losses_ : backoff_).is_on(t);
  }
  // True: the rail flapped, and its first lane since then has not lived for kTrial. No second lane is dialled
  // meanwhile.
  bool is_on_trial(TimePoint t) const { return suspect() && flaps_ && has_lanes() && t < up_since_ + kTrial; }
  // Returns the end of the backoff or trial in which the rail is at `t`; TimePoint::max(): it is in none.
  TimePoint next_change(TimePoint t) const;

 private:
  // starting value; longer than a lane that loses all packets takes to be given up
  static constexpr Nanos kTrial = std::chrono::seconds(2);
  static constexpr int kSuspectFrom = 2;

  bool suspect() const { return bad_in_a_row_ >= kSuspectFrom; }

  int lanes_ = 0;
  bool carried_ = false;
  TimePoint up_since_{};  // when the rail last got its first lane
  // losses of its last lane, and failed tries without a lane, since a lane lived for Backoff::kSteady
  int bad_in_a_row_ = 0;
  bool flaps_ = false;  // one of these lanes lived for less than Backoff::kSteady
  Backoff backoff_;     // after losses and failed tries
  Backoff losses_;      // after losses only
};

}  // namespace railweave::engine

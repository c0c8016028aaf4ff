// Whether one rail, of ours or of the peer's, is to blame for what its pairs suffer, and how it rests then: all its
// pairs together are tried as seldom as one pair would be (docs/operate/reliability.md, "Who sees to it that there are
// lanes").
//
// A rail with a lane is not to blame. Without one, a rail is suspect from the second loss or failure in a row on,
// whichever its partners were: the first stand-in after a loss is tried at once. Stand-ins of a suspect rail take
// turns, and rest with the rail. A suspect rail *flaps* when its lanes came up and were lost soon: each such lane holds
// up a transfer. Then home pairs take turns as well, and a first lane has to live for a while before it gets company. A
// try that fails holds up nothing: home pairs wait for rests after losses only. Else tries of stand-ins, which may have
// no way at all, would keep a rail waiting that is well again.
//
// Pure. One thread at a time.
#pragma once

#include "engine/reconcile/backoff.h"

namespace railweave::engine {

class RailBackoff {
 public:
  // How many lanes the rail has now.
  void see(int lanes, TimePoint t);
  bool has_lanes() const { return lanes_ > 0; }

  // REQUIRES: no lane is left. Its last lane was lost, for being too slow or not; a try of one of its pairs failed.
  void lost(TimePoint t, bool too_slow, const Backoff::Jitter& jitter);
  void failed(TimePoint t, const Backoff::Jitter& jitter);
  // Its link is up again, or it is another interface or has other addresses: what was is no sign of what will be.
  void forgive();

  // A try of a pair of this rail has to wait for its turn: may_try(), and no other such try is under way. `home`: of a
  // home pair.
  bool takes_turns(bool home, TimePoint t) const {
    return suspect() && (flaps_ ? !has_lanes() || is_on_trial(t) : !home && !has_lanes());
  }
  bool may_try(bool home, TimePoint t) const { return !has_lanes() && !(home ? losses_ : backoff_).is_on(t); }
  // It flapped, and its first lane since has not lived long enough to have another one beside it.
  bool is_on_trial(TimePoint t) const { return suspect() && flaps_ && has_lanes() && t < up_since_ + kTrial; }
  // When the rest or the trial that it is in at `t` is over; TimePoint::max(): it is in none.
  TimePoint next_change(TimePoint t) const;

 private:
  // start: longer than a lane that loses all takes to be given up
  static constexpr Nanos kTrial = std::chrono::seconds(2);
  static constexpr int kSuspectFrom = 2;

  bool suspect() const { return bad_in_a_row_ >= kSuspectFrom; }

  int lanes_ = 0;
  bool carried_ = false;
  TimePoint up_since_{};  // when it had a lane again
  // losses of its last lane, and tries that failed without one, since a lane lived for Backoff::kSteady
  int bad_in_a_row_ = 0;
  bool flaps_ = false;  // one of these lanes was lost soon after it came up
  Backoff backoff_;     // for losses and tries that failed
  Backoff losses_;      // for losses alone
};

}  // namespace railweave::engine

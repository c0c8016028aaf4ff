// Decides whether a session that lost its last lane waits for another, and until when (docs/operate/reliability.md,
// "Reconnect grace").
//
// Pure: the caller passes in events and times. Threads: one at a time.
#pragma once

#include <cstdint>
#include <optional>

#include "railweave/status.h"
#include "railweave/units.h"

namespace railweave::engine {

class ReconnectGrace {
 public:
  explicit ReconnectGrace(Nanos peer_timeout) : peer_timeout_(peer_timeout) {}

  // join_began(): a lane is being dialled. join_ended(): the dial is over, with any outcome.
  void join_began() { ++joins_; }
  void join_ended() { --joins_; }
  // Extends the grace to the peer timeout from now, because either side gave up a lane. The others may be given up or
  // reset for the same reason, and a new lane may come.
  void extend(TimePoint now) { until_ = now + peer_timeout_; }
  // The session has a lane again after it had none.
  void lane_restored(TimePoint now) { back_at_ = now; }
  // The peer's kernel or the network ended a lane. The peer's process may be dead, which LaneReconciler or PeerProbe
  // learns by asking. `segments`: exchanged ever, both directions. Extends the grace, except for a path that accepts
  // connections and keeps none. On such a path no segment was exchanged since the last extension, and lanes lived for
  // less than kLived.
  void lane_reset(TimePoint now, std::uint64_t segments);
  // peer_silent(): all lanes are silent since `since`. peer_heard(): a lane is heard again. No kernel's verdict on a
  // lane counts before the silence has lasted for the peer timeout.
  void peer_silent(TimePoint since) { patient_until_ = since + peer_timeout_; }
  void peer_heard() { patient_until_ = TimePoint::min(); }

  // The last lane was lost, and requests would end with `loss`. `unanswered`: the lane ended because no answer came, by
  // our kernel's verdict or ours. `leaving`: a goodbye was said; no lane is dialled any more, but one under way may
  // bring the peer's last frames. Returns whether the session waits for another lane.
  bool last_lane_lost(TimePoint now, bool unanswered, bool leaving, const Status& loss);
  // REQUIRES: the session has no lane. Returns the loss once nothing is waited for. Ok: the session waits, or never had
  // a lane.
  Status over(TimePoint now) const;
  // Returns the time since the last lane was lost. 0: last_lane_lost() never returned true. REQUIRES: the session has
  // no lane.
  Nanos waited(TimePoint now) const { return lost_at_ == TimePoint::min() ? Nanos(0) : now - lost_at_; }

 private:
  static constexpr Nanos kLived = std::chrono::seconds(1);
  // grace after the kernel ended the last lane, where no silence was noticed before
  static constexpr Nanos kOneDial = std::chrono::seconds(3);
  const Nanos peer_timeout_;
  int joins_ = 0;                               // dials under way
  TimePoint until_ = TimePoint::min();          // end of the grace
  TimePoint patient_until_ = TimePoint::min();  // end of the peer timeout of a silence; min(): the peer is heard
  TimePoint over_at_ = TimePoint::max();        // end of the wait, whatever is under way
  TimePoint back_at_ = TimePoint::min();        // when the session had a lane again
  std::optional<std::uint64_t> segments_then_;  // exchanged when a reset last extended the grace
  Status loss_;
  TimePoint lost_at_ = TimePoint::min();  // when the last lane was lost; min(): never
};

}  // namespace railweave::engine

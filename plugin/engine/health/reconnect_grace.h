// Whether a session that lost its last lane waits for another, and until when (docs/operate/reliability.md, "How a lane
// ends").
//
// Pure: the session says what happened, and when.
#pragma once

#include <cstdint>
#include <optional>

#include "railweave/status.h"
#include "railweave/units.h"

namespace railweave::engine {

class ReconnectGrace {
 public:
  explicit ReconnectGrace(Nanos peer_timeout) : peer_timeout_(peer_timeout) {}

  // A lane is being dialled; and is not any more, whatever came of it.
  void join_began() { ++joins_; }
  void join_ended() { --joins_; }
  // We or the peer gave up a lane, and the others may be given up, or reset, for as good a reason: a new one may come.
  void extend(TimePoint now) { until_ = now + peer_timeout_; }
  // There is a lane, and was none.
  void lane_restored(TimePoint now) { back_at_ = now; }
  // The peer's kernel or the network ended a lane: its process may be dead, which whoever asks learns at once
  // (LaneReconciler, PeerProbe). `segments`: that were exchanged, ever. None since such an end gave hope, and lanes
  // again for less than kLived: no new hope, that path takes connections and keeps none.
  void lane_reset(TimePoint now, std::uint64_t segments);
  // All lanes are silent since then; and are not any more. Before its timeout no kernel's verdict on them counts.
  void peer_silent(TimePoint since) { patient_until_ = since + peer_timeout_; }
  void peer_heard() { patient_until_ = TimePoint::min(); }

  // No lane is left, which would end requests with `loss`. `unanswered`: it went because no answer came (our kernel's
  // verdict, or ours); `leaving`: a goodbye was said, no lane is dialled any more, but one that is on its way may bring
  // last words.
  // True: another one is waited for.
  bool last_lane_lost(TimePoint now, bool unanswered, bool leaving, const Status& loss);
  // REQUIRES: no lane is there. The loss, once nothing is waited for; ok while something is, and when there never was a
  // lane.
  Status over(TimePoint now) const;
  // Since the last lane was lost. 0: last_lane_lost() never said that another one is waited for. REQUIRES: no lane is
  // there.
  Nanos waited(TimePoint now) const { return lost_at_ == TimePoint::min() ? Nanos(0) : now - lost_at_; }

 private:
  static constexpr Nanos kLived = std::chrono::seconds(1);
  // from the kernel's end of the last lane, where no silence was noticed before
  static constexpr Nanos kOneDial = std::chrono::seconds(3);
  const Nanos peer_timeout_;
  int joins_ = 0;
  TimePoint until_ = TimePoint::min();
  TimePoint patient_until_ = TimePoint::min();
  TimePoint over_at_ = TimePoint::max();  // then it ends in any case
  TimePoint back_at_ = TimePoint::min();
  std::optional<std::uint64_t> segments_then_;  // when a reset gave hope
  Status loss_;
  TimePoint lost_at_ = TimePoint::min();  // the last lane
};

}  // namespace railweave::engine

// The pairs of rails by which a session has lanes or had some, and the denials that came by each pair. A denial is an
// answer by which the peer's host says that the peer is gone (docs/operate/reliability.md, "No lane is left, and the
// last one was reset").
//
// Pure: no clock. Threads: one at a time, under the session's mutex.
#pragma once

#include <optional>
#include <vector>

#include "engine/reconcile/lane_plan.h"
#include "railweave/status.h"
#include "railweave/units.h"

namespace railweave::engine {

class CarryingPairs {
 public:
  // Records that a lane of this pair is about to be established. Throws std::bad_alloc; nothing has changed then.
  void carries(const RailPair& rails);
  // Records when the peer was heard, on any lane. A time before the latest known one has no effect.
  void heard(TimePoint at);
  // `open`: the pairs of open lanes. Each other pair that had a lane until now lost its last one at `now`.
  void note_lost(TimePoint now, const std::vector<RailPair>& open);
  // Returns the pair of each lane that is or ever was established; each pair once.
  std::vector<RailPair> all() const;

  // True: the pair has a lane, or lost its last one at most kLostTogether before the peer was last heard. A pair whose
  // lanes were lost earlier may lead to a firewall, or to another host.
  bool speaks_for_peer(const RailPair& rails) const;
  // REQUIRES: no lane is heard, and `rails` speak for the peer. Records that the host there denied the peer. `loss`:
  // the error with which the session ends for this denial. Ok: a firewall may have sent the denial, which ends nothing
  // alone and counts only beside the denial of another pair.
  void denied(TimePoint now, const RailPair& rails, const Status& loss);
  // Forgets all denials: the peer gave a sign of life by a lane or a handshake, so no denial came from the peer.
  void forget_denials();
  // Not ok: the peer is gone. All pairs that speak for the peer are denied, or kOthersMost has passed since the first
  // denial with a loss. Returns that loss.
  Status verdict(TimePoint now) const;

 private:
  struct Pair {
    RailPair rails;
    std::optional<TimePoint> lost_at;  // when the last lane was lost; none: the pair has a lane
    bool denied = false;
  };

  // all lanes of a process that ends are reset within this time
  static constexpr Nanos kLostTogether = std::chrono::milliseconds(200);
  // time for other pairs to be denied: a backoff is a second at most here, and TCP retransmits a lost SYN after another
  static constexpr Nanos kOthersMost = std::chrono::milliseconds(2500);
  bool speaks(const Pair& pair) const { return !pair.lost_at || *pair.lost_at + kLostTogether >= heard_at_; }

  std::vector<Pair> pairs_;
  TimePoint heard_at_ = TimePoint::min();
  TimePoint denied_at_{};  // when loss_ was set
  Status loss_;            // of the first denial that has one; ok: none
};

}  // namespace railweave::engine

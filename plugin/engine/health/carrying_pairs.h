// The pairs of rails by which a session has lanes or had some, which of them speak for the peer, and what the peer's
// host said by them since no lane is heard (docs/operate/reliability.md, "No lane is left, and the last one was
// reset").
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
  // A lane of this pair is about to stand. May throw std::bad_alloc, and is without effect then.
  void carries(const RailPair& rails);
  // The peer was heard then, on any lane. An earlier time than before is without effect.
  void heard(TimePoint at);
  // `open`: the pairs of open lanes. Notes when each of the others lost its last one.
  void note_lost(TimePoint now, const std::vector<RailPair>& open);
  // The pair of every lane that stands, or ever stood; each pair once.
  std::vector<RailPair> all() const;

  // The pair has a lane, or had one until kLostTogether before the peer was heard last. A pair whose lanes were lost
  // before that may lead to a firewall, or to another host.
  bool speaks_for_peer(const RailPair& rails) const;
  // REQUIRES: no lane is heard, and `rails` speak for the peer. The host there said that the peer is gone. `loss`: what
  // the session ends with for that; ok: the answer may be a firewall's, which ends nothing by itself, and counts where
  // another pair is denied.
  void denied(TimePoint now, const RailPair& rails, const Status& loss);
  // The peer gave a sign of life, by a lane or a handshake: no denial until now was its word.
  void forget_denials();
  // Not ok: the peer is gone, for all pairs that speak for it were denied, or one was and the denial stood for
  // kOthersMost. Returns the loss of the first denial.
  Status verdict(TimePoint now) const;

 private:
  struct Pair {
    RailPair rails;
    std::optional<TimePoint> lost_at;  // when the pair lost its last lane; none: the pair has a lane
    bool denied = false;
  };

  // the lanes of a process that ends are reset within so long
  static constexpr Nanos kLostTogether = std::chrono::milliseconds(200);
  // a pair rests a second at most, and a SYN that is lost comes again in one
  static constexpr Nanos kOthersMost = std::chrono::milliseconds(2500);
  bool speaks(const Pair& pair) const { return !pair.lost_at || *pair.lost_at + kLostTogether >= heard_at_; }

  std::vector<Pair> pairs_;
  TimePoint heard_at_ = TimePoint::min();
  TimePoint denied_at_{};  // when loss_ was said
  Status loss_;            // ok: the peer was not denied
};

}  // namespace railweave::engine

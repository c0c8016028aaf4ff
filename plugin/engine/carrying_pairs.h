// The pairs of rails by which a session has lanes or had some, which of them speak for the peer, and what the peer's host said by them since
// no lane is heard (docs/reliability.md, "No lane is left, and the last one was reset").
//
// Pure: no clock. Threads: one at a time, under the session's mutex.
#pragma once

#include <optional>
#include <vector>

#include "engine/lane_plan.h"
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
  std::vector<RailPair> all() const;

  // The pair has a lane, or had one until kLostTogether before the peer was heard last. A pair whose lanes were lost before that may lead to a
  // firewall, or to another host.
  bool speaks_for_peer(const RailPair& rails) const;
  // REQUIRES: no lane is heard, and `rails` speak for the peer. The peer's host said there that the peer is gone. `loss`: what the session
  // ends with for that; ok: the answer may be a firewall's, and ends nothing by itself.
  void denied(TimePoint now, const RailPair& rails, const Status& loss);
  // A lane is heard: what was denied until now was not the peer's word.
  void forget_denials();
  // Not ok: the peer is gone, for all pairs that speak for it said so, or one did and no lane came for kOthersMost. The loss of the first.
  Status verdict(TimePoint now) const;

 private:
  struct Pair {
    RailPair rails;
    std::optional<TimePoint> lost_at;  // its last lane; none: the pair has one
    bool denied = false;
  };

  static constexpr Nanos kLostTogether = std::chrono::milliseconds(200);  // the lanes of a process that ends are reset within so long
  static constexpr Nanos kOthersMost = std::chrono::milliseconds(1200);   // a SYN that is lost comes again after a second
  bool speaks(const Pair& pair) const { return !pair.lost_at || *pair.lost_at + kLostTogether >= heard_at_; }

  std::vector<Pair> pairs_;
  TimePoint heard_at_ = TimePoint::min();
  TimePoint denied_at_{};  // when loss_ was said
  Status loss_;            // ok: the peer was not denied
};

}  // namespace railweave::engine

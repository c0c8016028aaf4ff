// One lane's share of what arrives by its rail: says in the rail's account what came and whether more waits, and finds
// how much the peer may send (docs/internals/credit_windows.md): an even window, or turns (LaneTurns). Under the lane's
// claim.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/credit/arrival_rate.h"
#include "engine/credit/lane_turns.h"
#include "engine/credit/lane_weight.h"
#include "engine/credit/rail_account.h"
#include "engine/credit/share_policy.h"
#include "protocol/session_protocol.h"
#include "railweave/units.h"

namespace railweave::engine {

class LaneShare {
 public:
  using Arrivals = protocol::SessionProtocol::Arrivals;
  using Credit = protocol::Credit;

  // of a peer that might send and does not: longer than TCP's first timeout
  static constexpr Nanos kDemandForgotten = std::chrono::milliseconds(300);
  // a lane without demand for so long has an idle window
  static constexpr Nanos kIdle = std::chrono::milliseconds(100);

  // `speed`: the rail's nominal one; zero: not known.
  LaneShare(std::shared_ptr<RailAccount> account, Rate speed) : place_(std::move(account)), rate_(speed) {}

  // What the peer may send, by what arrived until now. `min_rtt`: the lane's shortest round trip. A lane that finds the
  // account full has the least window.
  Credit poll(TimePoint now, const Arrivals& arrivals, Nanos min_rtt);
  // poll() should be called by then though nothing arrives; TimePoint::max(): need not.
  TimePoint due() const { return due_; }
  // Lanes of the rail that had demand at the last look.
  int senders() const { return senders_; }

 private:
  bool may_send(std::uint64_t position) const;
  void note_absence(TimePoint now);
  bool demands(TimePoint now, const Arrivals& arrivals) const;
  void on_arrivals(TimePoint now, const Arrivals& arrivals);
  void mark_demand(TimePoint now, const Arrivals& arrivals, bool was_away);
  void find(TimePoint now, const RailLoad& load, const Arrivals& arrivals, Nanos min_rtt);
  void take_turns(TimePoint now, const RailLoad& load, const Share& share, std::uint64_t position);
  TimePoint next_poll(TimePoint now) const;

  AccountPlace place_;
  LaneTurns turns_{place_};
  ArrivalRate rate_;
  LaneWeight weight_;
  TurnTimes times_;
  std::uint64_t position_ = 0, segments_ = 0;
  TimePoint let_go_at_{};    // when a segment came last, or the peer, which could not send, was let go again
  TimePoint demanded_at_{};  // when there was demand last
  TimePoint looked_at_{};
  TimePoint others_known_at_{};  // until then lanes that do not count may have stood still just as this one
  Credit credit_;
  TimePoint due_ = TimePoint::max();
  int senders_ = 0;
};

}  // namespace railweave::engine

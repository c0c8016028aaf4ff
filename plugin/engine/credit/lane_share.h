// One lane's share of its rail. Writes to the rail's account how much arrived and whether more waits, and finds how
// much the peer may send (docs/internals/credit_windows.md): an even window, or turns (LaneTurns).
//
// Threads: under the lane's claim.
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

  // demand ends when a peer that may send has sent nothing for so long: longer than TCP's first retransmission timeout
  static constexpr Nanos kDemandForgotten = std::chrono::milliseconds(300);
  // a lane without demand for so long has an idle window
  static constexpr Nanos kIdle = std::chrono::milliseconds(100);

  // `speed`: the rail's nominal speed; zero: not known.
  LaneShare(std::shared_ptr<RailAccount> account, Rate speed) : place_(std::move(account)), rate_(speed) {}

  // Returns how much the peer may send, given the arrivals until now. `min_rtt`: the lane's shortest round trip; 0: not
  // known. A lane that finds the account full has a window of kShareLeast.
  Credit poll(TimePoint now, const Arrivals& arrivals, Nanos min_rtt);
  // When poll() must be called though nothing arrives; TimePoint::max(): never.
  TimePoint due() const { return due_; }
  // Lanes of the rail that had demand at the last poll().
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
  std::uint64_t position_ = 0, segments_ = 0;  // of the arrivals, at the last poll()
  TimePoint let_go_at_{};                      // of the last segment, or when a peer at its limit got room again
  TimePoint demanded_at_{};                    // when the lane had demand last
  TimePoint polled_at_{};                      // of the last poll()
  TimePoint others_known_at_{};                // until then lanes with an expired lease may be stopped, and not gone
  Credit credit_;                              // returned last
  TimePoint due_ = TimePoint::max();
  int senders_ = 0;
};

}  // namespace railweave::engine

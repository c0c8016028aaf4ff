// What a lane's receiver does about its sender: finds the lane's share (LaneShare), has the wire bound what is under
// way, and tells the peer the rest (AnnouncedCredit). Under the lane's claim.
#pragma once

#include <memory>

#include "engine/credit/lane_share.h"
#include "engine/credit/told_credit.h"
#include "engine/session/shared_protocol.h"
#include "wire/lane_metrics.h"
#include "wire/wire.h"

namespace railweave::engine {

class LaneCredit {
 public:
  // The credit window of each lane by rails, until its receiver says more. Both ends know it: it is part of the
  // protocol's version.
  static constexpr protocol::Credit kFirst{.window_bytes = 16 * KiB};

  LaneCredit(std::shared_ptr<RailAccount> account, Rate speed) : share_(std::move(account), speed) {}

  // Writes to `metrics` what bounds this end's sending. poll() writes what bounds the peer's.
  static void show_sending(const protocol::SessionProtocol& session, protocol::LaneId id, wire::LaneMetrics& metrics);

  // After what `lane` read was handled, or when due(). Not with the session's mutex held.
  void poll(SharedProtocol& protocol, protocol::LaneId id, wire::Lane& lane);
  // poll() should be called by then though nothing arrives, for the peer may wait to be told what it may send;
  // TimePoint::max(): need not.
  TimePoint due() const { return share_.due(); }

 private:
  void show_receiving(const protocol::Credit& credit, wire::LaneMetrics& metrics) const;

  LaneShare share_;
  AnnouncedCredit reported_{kFirst};
  Nanos min_rtt_{0};
  TimePoint rtt_asked_at_{};
};

}  // namespace railweave::engine

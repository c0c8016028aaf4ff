// Bounds a lane's sender from the receiving end. Finds the lane's share (LaneShare), has the wire bound the bytes under
// way, and announces the credit to the peer (AnnouncedCredit). Threads: under the lane's claim.
#pragma once

#include <memory>

#include "engine/credit/announced_credit.h"
#include "engine/credit/lane_share.h"
#include "engine/session/shared_protocol.h"
#include "wire/lane_metrics.h"
#include "wire/wire.h"

namespace railweave::engine {

class LaneCredit {
 public:
  // The credit window of each lane by rails, until the receiver's first WINDOW. Both ends know this value: the
  // protocol version fixes the value.
  static constexpr protocol::Credit kFirst{.window_bytes = 16 * KiB};

  LaneCredit(std::shared_ptr<RailAccount> account, Rate speed) : share_(std::move(account), speed) {}

  // Writes the bounds of this end's sending to `metrics`. poll() writes the bounds of the peer's sending.
  static void show_sending(const protocol::SessionProtocol& session, protocol::LaneId id, wire::LaneMetrics& metrics);

  // Call after `lane`'s arrivals were handled, and when due(). Do not hold the session's mutex.
  void poll(SharedProtocol& protocol, protocol::LaneId id, wire::Lane& lane);
  // When poll() must be called though nothing arrives: the peer may wait for a WINDOW. TimePoint::max(): never.
  TimePoint due() const { return share_.due(); }

 private:
  void show_receiving(const protocol::Credit& credit, wire::LaneMetrics& metrics) const;

  LaneShare share_;
  AnnouncedCredit announced_{kFirst};
  Nanos min_rtt_{0};          // the lane's shortest round trip; 0: not known
  TimePoint rtt_asked_at_{};  // when min_rtt_ was read
};

}  // namespace railweave::engine

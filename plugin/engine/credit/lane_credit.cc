#include "engine/credit/lane_credit.h"

#include <algorithm>

namespace railweave::engine {
namespace {

constexpr Nanos kRttEvery = std::chrono::milliseconds(20);

// Converts a window for LaneStats, where 0 means no window. A window of 0 bytes shows as 1 byte.
std::uint64_t shown(std::uint64_t window_bytes) {
  return window_bytes == protocol::Credit::kNone ? 0 : std::max<std::uint64_t>(window_bytes, 1);
}

}  // namespace

void LaneCredit::show_sending(const protocol::SessionProtocol& session, protocol::LaneId id,
                              wire::LaneMetrics& metrics) {
  metrics.send_window_bytes.set(shown(session.send_credit(id).window_bytes));
  metrics.without_credit_ns.set(std::uint64_t(session.without_credit(id).count()));
}

void LaneCredit::show_receiving(const protocol::Credit& credit, wire::LaneMetrics& metrics) const {
  metrics.recv_window_bytes.set(shown(credit.window_bytes));
  metrics.rail_senders.set(std::uint64_t(share_.senders()));
}

// The first WINDOW waits until something arrived by the lane: a peer ignores a WINDOW for a lane that the peer does not
// have yet.
void LaneCredit::poll(SharedProtocol& protocol, protocol::LaneId id, wire::Lane& lane) {
  const TimePoint now = protocol.now();
  if (now >= rtt_asked_at_ + kRttEvery) {
    min_rtt_ = lane.health().min_rtt;
    rtt_asked_at_ = now;
  }
  const protocol::SessionProtocol::Arrivals arrivals = protocol.lock()->arrivals(id);
  if (arrivals.position == 0) return;
  const protocol::Credit credit = share_.poll(now, arrivals, min_rtt_);
  show_receiving(credit, *lane.metrics());
  const bool wire_holds = lane.bound_arrivals(credit.window_bytes);
  const auto news = announced_.news(credit, wire_holds);
  if (!news) return;
  const SharedProtocol::Locked locked = protocol.lock();
  locked->announce_window(id, *news);
  locked.publish();
}

}  // namespace railweave::engine

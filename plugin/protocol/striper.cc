#include "protocol/striper.h"

#include <algorithm>

#include "protocol/frame.h"

namespace railweave::protocol {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kSegmentBytesMin = 16 * 1024;
constexpr std::uint32_t kProbeSegmentBytes = 64 * 1024;  // a new lane starts with one of these
constexpr std::uint32_t kLineBytes = 128;                // LL128 lines are never split
constexpr Nanos kSegmentTime = 500us;
constexpr Nanos kHoldTime = 2ms;                         // covers the pauses of a caller that polls ...
constexpr Nanos kLookRestMax = 1ms;
constexpr double kHoldBytesMax = 4 * MiB;                // ... of a fast rail, too: memory

}  // namespace

std::uint64_t outstanding_bytes_max(const LaneView& lane) {
  if (!lane.rate_known) return kProbeSegmentBytes;
  const double in_flight = lane.rate.bytes_in(2 * lane.min_rtt);
  const double held = std::min(lane.rate.bytes_in(kHoldTime), kHoldBytesMax);
  return std::max<std::uint64_t>(std::uint64_t(std::max(in_flight, held)), 2 * segment_bytes(lane));
}

bool worth_refilling(const LaneView& lane) {
  const std::uint64_t most = outstanding_bytes_max(lane);
  return lane.outstanding_bytes + most / 4 <= most;
}

Nanos rest_before_look(const LaneView& lane) {
  if (!lane.rate_known || worth_refilling(lane)) return Nanos{0};
  const std::uint64_t most = outstanding_bytes_max(lane);
  return std::min(lane.rate.time_for(double(lane.outstanding_bytes + most / 4 - most)) / 2, kLookRestMax);
}

std::uint32_t segment_bytes(const LaneView& lane) {
  if (!lane.rate_known) return kProbeSegmentBytes;
  const double bytes = std::clamp(lane.rate.bytes_in(kSegmentTime), double(kSegmentBytesMin), double(kSegmentBytesMax));
  return std::uint32_t(bytes) / kLineBytes * kLineBytes;
}

namespace {

Nanos delivery(const LaneView& lane, std::uint32_t segment) {
  return lane.rate.time_for(double(lane.outstanding_bytes + segment)) + lane.min_rtt / 2;
}

}  // namespace

void OthersView::add(const LaneView& lane, std::uint32_t segment) {
  any = true;
  rate.bytes_per_s += lane.rate.bytes_per_s;
  outstanding_bytes += lane.outstanding_bytes;
  soonest = std::min(soonest, delivery(lane, segment));
}

bool finishes_in_time(const LaneView& lane, const OthersView& others, std::uint32_t segment, std::uint64_t waiting_bytes) {
  if (!others.any || others.rate.bytes_per_s <= 0) return true;
  if (!lane.rate_known) return true;
  const Nanos together = others.rate.time_for(double(others.outstanding_bytes + std::max<std::uint64_t>(waiting_bytes, segment)));
  return delivery(lane, segment) <= std::max(together, others.soonest);
}

}  // namespace railweave::protocol

#include "protocol/striper.h"

#include <algorithm>

#include "protocol/frame.h"

namespace railweave::protocol {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kProbeSegmentBytes = 64 * 1024;  // bytes of a new lane's first segment
constexpr Nanos kSegmentTime = 500us;
constexpr Nanos kShortSegmentTime = 200us;                 // for a lane that holds less (docs/decisions/0018)
constexpr std::uint32_t kWindowSegmentBytesMin = 4 * KiB;  // for a lane with a small window
constexpr Nanos kShareTime = 25us;                         // a lane's share below this is not worth the system call
constexpr Nanos kHoldTime = 1500us;                        // covers the pauses of a caller that polls
constexpr Nanos kPollPauseMax = 1ms;
constexpr double kHoldBytesMax = 4 * MiB;         // bytes; covers a caller's pauses on a fast rail, and bounds memory
constexpr Nanos kShortHoldTime = 400us;           // covers few of a caller's pauses: less latency, more calls
constexpr double kInFlightBytesMax = 1024 * MiB;  // 100 Gb/s over 40 ms, twice: more than any send buffer

static_assert(kSegmentBytesMin % kLineBytes == 0 && kSegmentBytesMax % kLineBytes == 0 &&
              kProbeSegmentBytes % kLineBytes == 0);
static_assert(kSegmentBytesMin <= kProbeSegmentBytes && kProbeSegmentBytes <= kSegmentBytesMax);

}  // namespace

std::uint64_t outstanding_bytes_max(const LaneView& lane) {
  if (!lane.rate_known) return std::min<std::uint64_t>(kProbeSegmentBytes, lane.window_bytes);
  const double in_flight = std::min(lane.rate.bytes_in(2 * lane.min_rtt), kInFlightBytesMax);
  const double held = std::min(lane.rate.bytes_in(lane.holds_less ? kShortHoldTime : kHoldTime), kHoldBytesMax);
  const std::uint64_t worth =
      std::max<std::uint64_t>(std::uint64_t(std::max(in_flight, held)), 2 * segment_bytes(lane));
  return std::min(worth, lane.window_bytes);
}

bool is_bound_by_window(const LaneView& lane) {
  return lane.window_bytes != Credit::kNone && outstanding_bytes_max(lane) == lane.window_bytes;
}

bool worth_refilling(const LaneView& lane) {
  const std::uint64_t most = outstanding_bytes_max(lane);
  return lane.outstanding_bytes + most / 4 <= most;
}

Nanos pause_before_poll(const LaneView& lane) {
  if (!lane.rate_known || worth_refilling(lane)) return Nanos{0};
  const std::uint64_t most = outstanding_bytes_max(lane);
  return std::min(lane.rate.time_for(double(lane.outstanding_bytes + most / 4 - most)) / 2, kPollPauseMax);
}

namespace {

std::uint32_t whole_lines(double bytes) {
  return std::uint32_t(std::clamp(bytes, double(kSegmentBytesMin), double(kSegmentBytesMax))) / kLineBytes * kLineBytes;
}

Nanos delivery(const LaneView& lane, std::uint32_t segment) {
  return lane.rate.time_for(double(lane.outstanding_bytes + segment)) + lane.min_rtt / 2;
}

}  // namespace

std::uint32_t segment_bytes(const LaneView& lane) {
  const std::uint32_t usual = lane.rate_known
                                  ? whole_lines(lane.rate.bytes_in(lane.holds_less ? kShortSegmentTime : kSegmentTime))
                                  : kProbeSegmentBytes;
  if (lane.window_bytes >= 2 * std::uint64_t(usual)) return usual;
  return std::uint32_t(
      std::max<std::uint64_t>(lane.window_bytes / 2 / kLineBytes * kLineBytes, kWindowSegmentBytesMin));
}

std::uint32_t segment_bytes(const LaneView& lane, const OthersView& others, std::uint64_t waiting_bytes) {
  const std::uint32_t usual = segment_bytes(lane);
  if (!lane.rate_known || others.rate.bytes_per_s <= 0) return usual;
  const double all = double(waiting_bytes) + double(lane.outstanding_bytes) + double(others.outstanding_bytes);
  const double share = lane.rate.bytes_per_s / (lane.rate.bytes_per_s + others.rate.bytes_per_s);
  const double own = all * share - double(lane.outstanding_bytes) + kLineBytes - 1;
  return std::min(usual, whole_lines(std::max(own, lane.rate.bytes_in(kShareTime))));
}

void OthersView::add(const LaneView& lane) {
  any = true;
  rate.bytes_per_s += lane.rate.bytes_per_s;
  outstanding_bytes += lane.outstanding_bytes;
  soonest = std::min(soonest, delivery(lane, least_bytes));
}

bool finishes_in_time(const LaneView& lane, const OthersView& others, std::uint32_t segment,
                      std::uint64_t waiting_bytes) {
  if (!others.any || others.rate.bytes_per_s <= 0) return true;
  if (!lane.rate_known) return true;
  const Nanos together =
      others.rate.time_for(double(others.outstanding_bytes + std::max<std::uint64_t>(waiting_bytes, segment)));
  return delivery(lane, segment) <= together || delivery(lane, others.least_bytes) <= others.soonest;
}

}  // namespace railweave::protocol

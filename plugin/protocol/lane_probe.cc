#include "protocol/lane_probe.h"

#include <algorithm>
#include <utility>

namespace railweave::protocol {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kTailBytes = 16 * KiB;  // a probe's last bytes; a timer may delay their acknowledgement
constexpr std::uint64_t kLeastBytes = 2 * kTailBytes;
static_assert(kLeastBytes <= LaneProbe::kBytes && LaneProbe::kBytes % kLeastBytes == 0);
constexpr Nanos kTakesMost = 250ms;                // duration of a probe, unless kLeastBytes take longer
constexpr std::uint64_t kIdleBytesMax = 16 * KiB;  // outstanding; a lane with more is in use
constexpr double kStep = 4;                        // factor up or down, at most
constexpr Nanos kRest = 200ms, kRestMax = 5s;
constexpr int kRestTimes = 40;  // pause between probes, in durations of the last probe

std::uint64_t bytes_for(Rate believed) {
  const auto in_time = std::uint64_t(believed.bytes_in(kTakesMost)) / kLeastBytes * kLeastBytes;
  return std::clamp(in_time, kLeastBytes, LaneProbe::kBytes);
}

// Bytes of a probe that count for the least rate. A shaper's bucket may let the other half pass at any speed.
std::uint64_t counted(std::uint64_t bytes) { return bytes / 2; }

}  // namespace

LaneProbe::LaneProbe() : first_rest_(kRest) {}

bool LaneProbe::begin(TimePoint now, std::uint64_t outstanding_bytes, Rate believed) {
  if (running_ || outstanding_bytes > kIdleBytesMax) return false;
  if (!passed_over()) next_ = now + first_rest_;
  if (now < next_) return false;
  running_ = true;
  since_ = observed_at_ = now;
  believed_ = believed;
  left_ = bytes_ = bytes_for(believed);
  end_ = acknowledged_ + outstanding_bytes + bytes_ - kTailBytes;
  return true;
}

void LaneProbe::handed(std::uint64_t bytes) { left_ -= std::min(left_, bytes); }

std::optional<LaneProbe::Bounds> LaneProbe::observe(TimePoint now, std::uint64_t acknowledged_bytes,
                                                    std::uint64_t outstanding_bytes) {
  acknowledged_ = acknowledged_bytes;
  if (!running_) return {};
  const bool whole = acknowledged_ >= end_;
  const Nanos took_at_least = observed_at_ - since_, took_at_most = std::max(now - since_, Nanos{1us});
  observed_at_ = now;
  if (!whole && outstanding_bytes > 0) return {};
  running_ = false;
  left_ = 0;
  const Nanos rest = std::clamp<Nanos>(kRestTimes * took_at_least, kRest, kRestMax);
  next_ = now + rest;
  const std::optional<Bounds> before = std::exchange(faster_, std::nullopt);
  if (!whole) return {};
  Bounds bounds{Rate::of(double(counted(bytes_)), took_at_most),
                Rate::of(double(bytes_), std::max(took_at_least, Nanos{1us}))};
  if (bounds.least > believed_ && !before) {
    faster_ = bounds;
    next_ = now;
    return {};
  }
  if (before) bounds = {std::min(before->least, bounds.least), std::min(before->most, bounds.most)};
  if (bounds.least > believed_) {
    first_rest_ = std::min(2 * first_rest_, kRestMax);
  } else if (bounds.most < believed_) {
    next_ = now + std::max(rest, first_rest_);
  } else {
    first_rest_ = rest;
  }
  bounds.least = std::min(bounds.least, Rate{kStep * believed_.bytes_per_s});
  bounds.most = std::max(bounds.most, Rate{believed_.bytes_per_s / kStep});
  return bounds;
}

}  // namespace railweave::protocol

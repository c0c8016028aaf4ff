#include "protocol/lane_probe.h"

#include <algorithm>

namespace railweave::protocol {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kBytes = 64 * KiB;
constexpr std::uint64_t kTailBytes = 16 * KiB;     // a timer may hold back their acknowledgement
constexpr std::uint64_t kCountedBytes = 32 * KiB;  // a shaper's bucket may let the others pass at any speed
constexpr std::uint64_t kIdleBytesMax = 16 * KiB;  // outstanding: a lane with more is in use
constexpr double kRaise = 4;
constexpr Nanos kRest = 200ms, kRestMax = 5s;
constexpr int kRestTimes = 40;                     // what the last probe took

}  // namespace

LaneProbe::LaneProbe() : rest_(kRest) {}

bool LaneProbe::begin(TimePoint now, std::uint64_t outstanding_bytes, Rate believed) {
  if (running_ || outstanding_bytes > kIdleBytesMax) return false;
  if (!passed_over()) next_ = now + rest_;
  if (now < next_) return false;
  running_ = true;
  since_ = now;
  believed_ = believed;
  left_ = kBytes;
  end_ = acknowledged_ + outstanding_bytes + kBytes - kTailBytes;
  return true;
}

void LaneProbe::handed(std::uint64_t bytes) { left_ -= std::min(left_, bytes); }

std::optional<Rate> LaneProbe::observe(TimePoint now, std::uint64_t acknowledged_bytes, std::uint64_t outstanding_bytes) {
  acknowledged_ = acknowledged_bytes;
  const bool whole = acknowledged_ >= end_;
  if (!running_ || (!whole && outstanding_bytes > 0)) return {};
  running_ = false;
  left_ = 0;
  const Nanos took = std::max(now - since_, Nanos{1us});
  const Nanos rest = std::max(kRest, kRestTimes * took);
  next_ = now + rest;
  if (!whole) return {};
  const Rate seen = std::min(Rate::of(double(kCountedBytes), took), Rate{kRaise * believed_.bytes_per_s});
  rest_ = seen > believed_ ? std::min(2 * rest_, kRestMax) : rest;
  return seen;
}

}  // namespace railweave::protocol

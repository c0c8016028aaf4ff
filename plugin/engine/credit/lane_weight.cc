#include "engine/credit/lane_weight.h"

namespace railweave::engine {
namespace {

constexpr Rate kLeast = Rate::of(64 * KiB, LaneWeight::kSample);  // a lower rate loads no rail

}  // namespace

void LaneWeight::observe(TimePoint now, std::uint64_t lane_bytes, std::uint64_t rail_bytes) {
  const bool begins = from_ == TimePoint{} || lane_bytes < lane_bytes_ || rail_bytes < rail_bytes_;
  if (!begins && now < from_ + kSample) return;
  if (!begins) {
    const std::uint64_t mine = lane_bytes - lane_bytes_;
    heavy_ = double(mine) >= kLeast.bytes_in(now - from_) && mine >= (rail_bytes - rail_bytes_) / kPart;
  }
  from_ = now;
  lane_bytes_ = lane_bytes;
  rail_bytes_ = rail_bytes;
}

}  // namespace railweave::engine

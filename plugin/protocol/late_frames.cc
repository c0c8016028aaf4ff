#include "protocol/late_frames.h"

#include <algorithm>
#include <cassert>

namespace railweave::protocol {

void LateFrames::observe(TimePoint before, TimePoint now, std::uint64_t taken, std::uint64_t acknowledged,
                         Nanos smoothed_rtt) {
  assert(before <= now && acknowledged <= taken);
  acknowledged_ = acknowledged;
  late_end_ = 0;
  if (acknowledged >= taken) {
    count_ = 0;
    return;
  }
  const Nanos patience = std::clamp<Nanos>(kRoundTrips * smoothed_rtt, kLeast, kMost);
  while (count_ > 1 && at(1).at <= before - patience) {
    oldest_ = (oldest_ + 1) % kReadingsMax;
    --count_;
  }
  if (count_ > 0 && at(0).at <= before - patience) late_end_ = at(0).taken;
  const bool worth_keeping =
      count_ == 0 || (taken > at(count_ - 1).taken && now - at(count_ - 1).at >= patience / kReadingsInPatience);
  if (worth_keeping && count_ < kReadingsMax) at(count_++) = {now, taken};
}

LateFrames::Range LateFrames::take_new() {
  const Range range{std::max(acknowledged_, given_end_), late_end_};
  if (range.first >= range.end) return {};
  given_end_ = range.end;
  return range;
}

}  // namespace railweave::protocol

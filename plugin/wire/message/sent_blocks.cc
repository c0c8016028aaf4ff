#include "wire/message/sent_blocks.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace railweave::wire::message {

void SentBlocks::sent(TimePoint now, std::size_t frames, std::uint64_t stream_bytes) {
  assert(sent_ - returned_ < blocks_.size());
  at(sent_++) = {now, frames, stream_bytes};
}

void SentBlocks::returned(TimePoint now, std::uint64_t returned) {
  assert(returned >= returned_ && returned <= sent_);
  if (returned == returned_) return;
  const Block& newest = at(returned - 1);
  acknowledged_bytes_ = newest.stream_bytes;
  const Nanos rtt = std::max<Nanos>(now - newest.sent_at, Nanos(1));
  min_rtt_ = min_rtt_ == Nanos(0) ? rtt : std::min(min_rtt_, rtt);
  smoothed_rtt_ = smoothed_rtt_ == Nanos(0) ? rtt : (7 * smoothed_rtt_ + rtt) / 8;
  // The places of returned blocks are used again, so their frames are counted now.
  for (; released_ < returned; ++released_) releasable_ += at(released_).frames;
  returned_ = returned;
}

std::size_t SentBlocks::release(std::uint64_t left) {
  for (; released_ < std::min(left, sent_); ++released_) releasable_ += at(released_).frames;
  return std::exchange(releasable_, 0);
}

}  // namespace railweave::wire::message

// The blocks that this end sent and the peer has not given back: which frames end in each, and how much of the stream
// is acknowledged once the peer gave it back. Pure. Threads: the lane's.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "railweave/units.h"

namespace railweave::wire::message {

class SentBlocks {
 public:
  // `peer_slots`: as many blocks may be unreturned at once.
  explicit SentBlocks(std::uint32_t peer_slots) : blocks_(peer_slots) {}

  // The next block was sent. `frames`: those of which it has the last byte. `stream_bytes`: of the stream, up to its
  // end, since the lane began. REQUIRES: fewer than `peer_slots` blocks are unreturned.
  void sent(TimePoint now, std::size_t frames, std::uint64_t stream_bytes);
  // The peer has given back the blocks below `returned`. REQUIRES: these were sent.
  void returned(TimePoint now, std::uint64_t returned);
  // Returns the number of frames that were not released before and end in a block that left or was given back. `left`:
  // the blocks below this number left.
  std::size_t release(std::uint64_t left);
  bool has_releasable(std::uint64_t left) const { return releasable_ > 0 || released_ < std::min(left, sent_); }

  // When the oldest block that is not given back was sent; max(): all were given back.
  TimePoint unreturned_since() const {
    return sent_ > returned_ ? blocks_[returned_ % blocks_.size()].sent_at : TimePoint::max();
  }
  std::uint64_t returned_blocks() const { return returned_; }
  std::uint64_t acknowledged_bytes() const { return acknowledged_bytes_; }  // of the stream
  // From sending a block until it was given back, which includes the time until the peer read it. 0: not known yet.
  Nanos min_rtt() const { return min_rtt_; }
  Nanos smoothed_rtt() const { return smoothed_rtt_; }

 private:
  struct Block {
    TimePoint sent_at{};
    std::size_t frames = 0;
    std::uint64_t stream_bytes = 0;
  };

  Block& at(std::uint64_t number) { return blocks_[number % blocks_.size()]; }

  std::vector<Block> blocks_;                             // block n is at n % size()
  std::uint64_t sent_ = 0, returned_ = 0, released_ = 0;  // blocks so far
  std::size_t releasable_ = 0;                            // frames of returned blocks, not released yet
  std::uint64_t acknowledged_bytes_ = 0;
  Nanos min_rtt_{0}, smoothed_rtt_{0};
};

}  // namespace railweave::wire::message

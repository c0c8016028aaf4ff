// The two rings of blocks between this end and the peer: sends blocks within the peer's credit, puts those that arrive
// into order, and gives their slots back. Knows nothing of frames. Reads the clock only where a block needs the time:
// a clock read for each poll() would cost more than the poll. Threads: the lane's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "wire/message/arrived_blocks.h"
#include "wire/message/block.h"
#include "wire/message/channel.h"
#include "wire/message/ring_credit.h"
#include "wire/message/sent_blocks.h"

namespace railweave::wire::message {

class BlockRings {
 public:
  // `peer`: the shape of the peer's channel.
  BlockRings(std::unique_ptr<Channel> channel, const ChannelShape& peer);

  Channel& channel() { return *channel_; }
  // Asks the channel for news: arrived blocks, free slots, credit. Sends what waits for the channel.
  // Errors: Code::remote (a malformed block; the peer or the path failed), Code::system. What arrived before stays.
  Status poll();

  // The cause of the first error. Meaningful after an error.
  LaneEnd why_failed() const { return end_.value_or(channel_->why_failed()); }

  // --- receiving. The next block in order; none: it has not arrived.
  struct Received {
    Prefix prefix;
    std::span<const std::byte> stream;
    bool is_statement() const { return stream.empty() && !prefix.probe && !prefix.last; }  // of credit alone
  };
  std::optional<Received> next() const;
  void pop();  // the next block was read

  // --- sending
  // Returns the room for stream in the next block; empty: no credit, no free slot, or a block that is not sent yet.
  std::span<std::byte> room();
  // What the next block carries. `bytes`: filled into room(). `frames`: of which it has the last byte. `stream_bytes`:
  // of the stream in this direction, with this block.
  struct Content {
    std::size_t bytes = 0, frames = 0;
    std::uint64_t stream_bytes = 0;
    bool last = false;
  };
  // Sends the next block, now or as soon as the channel takes it. REQUIRES: room() is not empty. Errors: as poll().
  Status send(const Content& content);
  // The same for a probe, the first block: padding as long as the largest packets of a path.
  Status send_probe();
  // Tells the peer of free slots, if that is owed and there is room. `idle`: see RingCredit.
  Status state_credit(bool idle);
  // Asks the peer for an answer if blocks with stream are not given back for long and the channel may have lost them
  // without an error. A lost block then shows as a gap at one of the ends. One question at a time. Call this now and
  // then.
  Status ask_if_late();
  // A block waits for the channel.
  bool has_unsent() const { return unsent_bytes_ > 0; }
  const SentBlocks& sent() const { return sent_; }
  // Returns the number of frames that left and were not released before.
  std::size_t release() { return sent_.release(channel_->left()); }
  bool has_releasable() const { return sent_.has_releasable(channel_->left()); }

 private:
  static constexpr std::size_t kProbeBytes = 4096;  // the largest path MTU of RoCE
  static constexpr Nanos kAskAfter = std::chrono::milliseconds(200);

  Status take(const Arrival& arrival);
  Status give_back_popped();
  Status send_empty(const Prefix& prefix);
  Status send_block(Prefix prefix, std::size_t bytes, const Content& content);
  Status flush();

  const std::unique_ptr<Channel> channel_;
  const std::size_t block_bytes_;  // the largest block that this end sends
  RingCredit credit_;
  ArrivedBlocks arrived_;
  SentBlocks sent_;
  struct Popped {
    std::uint32_t slot;
    bool has_stream, asks;
  };
  std::vector<Popped> popped_;      // slots that the channel could not take back yet
  std::uint64_t stream_bytes_ = 0;  // sent so far
  std::optional<LaneEnd> end_;      // a block of the peer made no sense, or is missing
  std::uint32_t arrivals_ = 0;      // blocks that arrived, modulo 2^32
  std::uint64_t asked_ = 0;         // number of blocks up to the last one that asked
  bool unsent_is_sure_ = false;     // the block that waits for the channel is one that must not be lost
  std::size_t unsent_bytes_ = 0;    // length of a block that waits for the channel; 0: none
};

}  // namespace railweave::wire::message

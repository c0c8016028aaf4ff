// The two rings of blocks between this end and the peer: sends blocks within the peer's credit, puts those that arrive
// into order, and gives their slots back. Knows nothing of frames. Threads: the lane's.
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
  Status poll(TimePoint now);

  // The cause of the first error. Meaningful after an error.
  LaneEnd why_failed() const { return is_peer_malformed_ ? LaneEnd::closed : channel_->why_failed(); }

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
  Status send(TimePoint now, const Content& content);
  // The same for a probe, the first block: padding as long as the largest packets of a path.
  Status send_probe(TimePoint now);
  // Tells the peer of free slots, if that is owed and there is room. `idle`: see RingCredit.
  Status state_credit(TimePoint now, bool idle);
  // A block waits for the channel.
  bool has_unsent() const { return unsent_bytes_ > 0; }
  const SentBlocks& sent() const { return sent_; }
  // Returns the number of frames that left and were not released before.
  std::size_t release() { return sent_.release(channel_->left()); }
  bool has_releasable() const { return sent_.has_releasable(channel_->left()); }

 private:
  static constexpr std::size_t kProbeBytes = 4096;  // the largest path MTU of RoCE

  Status take(const Arrival& arrival);
  Status give_back_popped();
  Status send_block(TimePoint now, Prefix prefix, std::size_t bytes, const Content& content);
  Status flush();

  const std::unique_ptr<Channel> channel_;
  const std::size_t block_bytes_;  // the largest block that this end sends
  RingCredit credit_;
  ArrivedBlocks arrived_;
  SentBlocks sent_;
  struct Popped {
    std::uint32_t slot;
    bool has_stream;
  };
  std::vector<Popped> popped_;      // slots that the channel could not take back yet
  std::uint64_t stream_bytes_ = 0;  // sent so far
  bool is_peer_malformed_ = false;  // a block of the peer made no sense
  std::size_t unsent_bytes_ = 0;    // length of a block that waits for the channel; 0: none
};

}  // namespace railweave::wire::message

// The receiving end of a stream: where each message lands, what arrived, what to grant and to acknowledge.
//
// Life of a message: posted → granted (at once, by one frame) → segments arrive → complete → acknowledged, cumulatively
// → its request done. A small message may come before its receive: it waits in an eager slot.
// A request is done, in posting order, when its message is complete and, unless that was eager, its ack was handed
// over. Nobody waits for the ack of an eager message, nor for a grant while a quarter of the posted receives have
// theirs: such statements are lazy, they ride on the next frame that goes anyway (a ping-pong costs one system call
// each way).
//
// One thread at a time (the session's owner). Memory: [data, data+capacity) is written until the request ends. What it
// keeps of its own, slots above all, exists from accept() to its end only: an OPEN alone reserves next to nothing.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "protocol/completion.h"
#include "protocol/fifo.h"
#include "protocol/frame.h"
#include "protocol/frame_fields.h"

namespace railweave::protocol {

class RecvStream {
 public:
  RecvStream(StreamId id, std::size_t eager_slot_bytes);

  StreamId id() const { return id_; }

  // Answers the peer's OPEN. REQUIRES: called once, accept() or refuse(). Segments that come before are no peer's.
  // Without `slots` every message waits at its sender until its receive is posted.
  void accept(std::uint64_t rail_mask, bool slots = true);
  void refuse(std::string reason);
  bool accepted() const { return accepted_; }

  // --- posting
  bool can_post() const { return posted_ - published_ < kMessagesInFlight; }
  // REQUIRES: can_post(), accepted. On a failed stream the request ends at once with the stream's error.
  // `read_while_landing`: somebody reads the memory while the message lands.
  void post(void* request, std::byte* data, std::uint64_t capacity, Completions& out, bool read_while_landing = false);
  std::uint64_t unfinished() const { return posted_ - published_; }

  // --- data Where a segment's payload goes; data() == nullptr: nowhere. Errors: the header contradicts what is known
  // (Scope::lane).
  Result<std::span<std::byte>> on_segment(const FrameHeader& header, Completions& out);
  bool read_while_landing(std::uint64_t message) const { return messages_ && at(message).read_while_landing; }
  // Its lane was lost before the segment was wholly there: it will come again.
  void on_segment_lost(const FrameHeader& header);
  // The segment is wholly in the place that on_segment() named.
  Status on_consumed(const FrameHeader& header, Completions& out);

  // --- what the peer says
  Status on_close(const FrameHeader& header, Completions& out);
  void on_abort(Status why, Completions& out);

  // --- control
  bool next_control(FrameHeader& header, std::span<const std::byte>& payload);
  bool has_control() const {
    return opened_pending_ || close_pending_ || abort_pending_ || ack_urgent_ || grants_due_ || grants_urgent();
  }
  // REQUIRES: has_lazy(). The next grant or ack that could ride along.
  bool has_lazy() const { return ack_sent_ < ready_ || ungranted() > 0; }
  FrameHeader next_lazy();
  // An ACK or GRANT was handed to the kernel. Requests that waited for their ack end.
  void on_ack_written(const FrameHeader& ack, Completions& out);
  // No lane can take the ack now: requests need not wait for it (decision D4).
  void publish_without_ack(Completions& out);
  void repeat_control(const FrameHeader& lost);

  // --- ending
  void close(Completions& out);
  void fail(const Status& why, bool notify_peer, Completions& out);
  // The peer is gone. Messages that are wholly here end well, those not yet posted for included; all others end with
  // `why`.
  void on_peer_lost(const Status& why, Completions& out);
  bool touches(std::span<const std::byte> range) const;
  bool failed() const { return state_ == State::failed; }
  bool closed() const { return state_ == State::closed; }
  const Status& error() const { return error_; }
  bool gone() const { return !has_control() && peer_done_ && user_done_; }
  // Lets go of memory that nothing will need again, once no lane writes there. Session: after every change.
  void free_memory();

  FifoHook<RecvStream> control_hook;  // Session: streams with a control frame to send
  FifoHook<RecvStream> lazy_hook;     // Session: streams with a lazy ack
  std::uint32_t ledger_frames = 0;    // frames in lane ledgers that name this stream
  std::uint32_t landing = 0;          // lanes on which a payload of it is arriving
  // Session: the peer's OPEN arrived (it may be overtaken by that of a later stream)
  bool open_seen = false;

 private:
  enum class State { open, closed, failed };
  struct Message {
    void* request = nullptr;
    std::byte* data = nullptr;
    std::uint64_t capacity = 0;
    std::uint64_t size = 0;  // valid when size_known, as the tag is
    std::uint64_t tag = 0;
    std::uint64_t placed = 0;    // bytes that were given a place
    std::uint64_t received = 0;  // of these, those wholly there
    bool posted = false;
    bool read_while_landing = false;
    bool size_known = false;
    bool eager = false;
    bool in_slot = false;    // eager bytes landed (or are landing) in the slot, not in `data`
    bool arrived = false;    // all bytes are in `data` or in the slot
    bool complete = false;   // all bytes are in `data`
    bool grant_due = false;  // its grant was lost with a lane
    std::uint8_t eager_slot = 0;
  };

  Message& at(std::uint64_t message) { return (*messages_)[message % kMessageSlots]; }
  const Message& at(std::uint64_t message) const { return (*messages_)[message % kMessageSlots]; }
  std::span<std::byte> slot(std::uint8_t index, std::size_t bytes) const {
    return {eager_slots_.get() + index * eager_slot_bytes_, bytes};
  }
  // What is said below of the numbers of messages.
  bool numbers_hold() const {
    return published_ <= ready_ && ready_ <= posted_ && granted_ <= posted_ && ack_sent_ <= ready_ &&
           ack_written_ <= ack_sent_;
  }
  void learn(Message& m, const SegmentFrame& segment);
  Result<std::span<std::byte>> on_eager(const FrameHeader& header, Message& m, Completions& out);
  static std::span<std::byte> place_in(std::byte* memory, std::uint64_t capacity, const SegmentFrame& segment);
  bool fits(std::uint64_t message, Completions& out);
  void deliver_from_slot(Message& m);
  void advance(Completions& out);
  void publish(std::uint64_t acked, Completions& out);
  void end(State state, const Status& why, Completions& out);
  FrameHeader grant(std::uint64_t message);
  FrameHeader ack();
  // Complete ones need no grant any more.
  std::uint64_t ungranted() const { return posted_ - std::max(granted_, ready_); }
  bool grants_urgent() const { return ungranted() > 0 && 4 * ungranted() > 3 * (posted_ - ready_); }

  const StreamId id_;
  std::size_t eager_slot_bytes_;
  State state_ = State::open;
  Status error_;
  std::string error_text_;
  std::uint64_t rail_mask_ = 0;
  bool opened_pending_ = false, refused_ = false, close_pending_ = false, abort_pending_ = false;
  bool ack_urgent_ = false, grants_due_ = false, peer_done_ = false, user_done_ = false;
  bool accepted_ = false;
  bool peer_lost_ = false, slots_idle_ = false;  // slots_idle_: nothing waits in them, and nothing will
  bool final_known_ = false;
  std::uint64_t final_ = 0;  // messages the sender has at all, when it closed
  Status final_error_;       // of receives beyond; OK: the peer closed in peace

  // published_ <= ready_ <= posted_, granted_ <= posted_, ack_written_ <= ack_sent_ <= ready_.
  std::uint64_t posted_ = 0, granted_ = 0, ready_ = 0, published_ = 0;
  std::uint64_t ack_sent_ = 0, ack_written_ = 0;
  std::unique_ptr<std::array<Message, kMessageSlots>> messages_;  // while open and accepted
  std::unique_ptr<std::byte[]> eager_slots_;                      // likewise: for unexpected messages
};

}  // namespace railweave::protocol

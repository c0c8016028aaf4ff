// RecvStream: the receiving end of a stream. Decides where each message lands, and what to grant and to acknowledge.
//
// Lifetime of a message: posted → granted (at once, by one frame) → segments arrive → complete → acknowledged,
// cumulatively → its request done. A small message may come before its receive, and waits in an eager slot.
// Requests end in posting order. A request ends when its message is complete and the kernel has the message's ack. The
// request of an eager message does not wait for the ack.
// Lazy statements ride on the next frame that is sent anyway, so that a ping-pong costs one system call each way. Acks
// of eager messages are lazy. Grants are lazy while a quarter of the posted receives have their grant.
//
// Threads: one at a time (the session's owner).
// Memory: [data, data+capacity) is written until the request ends. The stream's own memory, mostly slots, exists from
// accept() to the stream's end only: an OPEN alone reserves next to nothing.
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

  // Answers the peer's OPEN. REQUIRES: accept() or refuse() is called once. A segment that arrives before is an error.
  // Without `slots` every message but an empty one waits at its sender until its receive is posted.
  void accept(std::uint64_t rail_mask, bool slots = true);
  void refuse(std::string reason);
  bool accepted() const { return accepted_; }

  // --- posting
  bool can_post() const { return posted_ - published_ < kMessagesInFlight; }
  // REQUIRES: can_post(), accepted(). On a failed stream the request ends at once with the stream's error.
  // `read_while_landing`: the caller reads the memory while the message lands.
  void post(void* request, std::byte* data, std::uint64_t capacity, Completions& out, bool read_while_landing = false);
  std::uint64_t unfinished() const { return posted_ - published_; }

  // --- data
  // Returns where a segment's payload goes; data() == nullptr: discard it. Errors (Scope::lane): the header contradicts
  // earlier frames.
  Result<std::span<std::byte>> on_segment(const FrameHeader& header, Completions& out);
  bool read_while_landing(std::uint64_t message) const { return messages_ && at(message).read_while_landing; }
  // The lane was lost before the segment was wholly there: the segment will be retransmitted.
  void on_segment_lost(const FrameHeader& header);
  // The segment is wholly in the place that on_segment() returned. Errors (Scope::lane): its message is complete
  // already.
  Status on_consumed(const FrameHeader& header, Completions& out);

  // --- the peer's statements
  Status on_close(const FrameHeader& header, Completions& out);
  void on_abort(Status why, Completions& out);

  // --- control
  // Fills in the next control frame; false: there is none. `payload` stays valid while the stream lives.
  bool next_control(FrameHeader& header, std::span<const std::byte>& payload);
  bool has_control() const {
    return opened_pending_ || close_pending_ || abort_pending_ || ack_urgent_ || grants_due_ || grants_urgent();
  }
  // The next grant or ack that may ride along. REQUIRES: has_lazy().
  bool has_lazy() const { return ack_sent_ < ready_ || ungranted() > 0; }
  FrameHeader next_lazy();
  // The kernel has an ACK or GRANT. Requests that waited for this ack end.
  void on_ack_written(const FrameHeader& ack, Completions& out);
  // No lane can take the ack now: requests end without waiting for it (decision D4).
  void publish_without_ack(Completions& out);
  // The frame was lost with its lane: queues its statement again, if it still holds.
  void repeat_control(const FrameHeader& lost);

  // --- ending
  // No more posts. If requests are unfinished, they end as cancelled and the peer gets ABORT; else the peer gets CLOSE.
  void close(Completions& out);
  void fail(const Status& why, bool notify_peer, Completions& out);
  // The peer is gone. Requests whose messages are wholly here end well, including receives posted later. All others end
  // with `why`.
  void on_peer_lost(const Status& why, Completions& out);
  // An unfinished request uses memory in `range`.
  bool touches(std::span<const std::byte> range) const;
  bool failed() const { return state_ == State::failed; }
  bool closed() const { return state_ == State::closed; }
  const Status& error() const { return error_; }
  // The session may forget the stream, once no ledger names it and no payload of it is arriving.
  bool gone() const { return !has_control() && peer_done_ && user_done_; }
  // Frees memory that is not needed any more, once no lane writes there. The session calls this after every change.
  void free_memory();

  FifoHook<RecvStream> control_hook;  // SessionProtocol: streams with a control frame to send
  FifoHook<RecvStream> lazy_hook;     // SessionProtocol: streams with a lazy statement
  std::uint32_t ledger_frames = 0;    // frames in lane ledgers that name this stream
  std::uint32_t landing = 0;          // lanes on which a payload of the stream is arriving
  // SessionProtocol: the peer's OPEN arrived; the OPEN of a later stream may overtake it
  bool open_seen = false;

 private:
  enum class State { open, closed, failed };
  struct Message {
    void* request = nullptr;
    std::byte* data = nullptr;
    std::uint64_t capacity = 0;
    std::uint64_t size = 0;  // valid if size_known, as is the tag
    std::uint64_t tag = 0;
    std::uint64_t placed = 0;    // bytes for which on_segment() returned a place
    std::uint64_t received = 0;  // bytes of these that are wholly there
    bool posted = false;
    bool read_while_landing = false;
    bool size_known = false;
    bool eager = false;
    bool in_slot = false;    // eager bytes landed (or are landing) in the slot, not in `data`
    bool arrived = false;    // all bytes are in `data` or in the slot
    bool complete = false;   // all bytes are in `data`
    bool grant_due = false;  // the grant was lost with a lane
    std::uint8_t eager_slot = 0;
  };

  Message& at(std::uint64_t message) { return (*messages_)[message % kMessageSlots]; }
  const Message& at(std::uint64_t message) const { return (*messages_)[message % kMessageSlots]; }
  std::span<std::byte> slot(std::uint8_t index, std::size_t bytes) const {
    return {eager_slots_.get() + index * eager_slot_bytes_, bytes};
  }
  // Invariants of the message numbers below.
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
  // Posted receives without a grant; a complete message needs none.
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
  bool peer_lost_ = false, slots_idle_ = false;  // slots_idle_: no message waits in a slot, and none will
  bool final_known_ = false;
  std::uint64_t final_ = 0;  // valid if final_known_: number of messages in the stream
  Status final_error_;       // error of receives beyond final_; OK: the peer closed in good order

  // Message numbers: published_ <= ready_ <= posted_, granted_ <= posted_, ack_written_ <= ack_sent_ <= ready_.
  std::uint64_t posted_ = 0, granted_ = 0, ready_ = 0, published_ = 0;
  std::uint64_t ack_sent_ = 0, ack_written_ = 0;
  std::unique_ptr<std::array<Message, kMessageSlots>> messages_;  // while open and accepted
  std::unique_ptr<std::byte[]> eager_slots_;                      // while open and accepted: early messages
};

}  // namespace railweave::protocol

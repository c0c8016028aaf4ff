// SendStream: the sending end of a stream. Knows which bytes of which message wait, are on a lane, or are acknowledged.
//
// Lifetime of a message: posted → cut into segments, oldest message first → acknowledged → retired. A small message is
// eager if the receiver has a free slot and the eager window has room. An eager message is copied and sent without a
// grant. Any other message is cut once it is granted.
// Requests end in posting order. The request of an eager message ends when the kernel has the message. Any other
// request ends when the receiver has the message and nothing refers to its bytes any more.
// Lifetime of the stream: opening → open → closing → gone, or failed from any of these states.
//
// Threads: one at a time (the session's owner).
// Memory: `data` of a message is referenced until its request ends. Eager copies live here until acknowledged.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "protocol/completion.h"
#include "protocol/fifo.h"
#include "protocol/frame.h"

namespace railweave::protocol {

class SendStream {
 public:
  SendStream(StreamId id, Priority priority, std::uint64_t listener, std::uint64_t rail_mask,
             std::size_t eager_limit_bytes);

  StreamId id() const { return id_; }
  Priority priority() const { return priority_; }
  bool may_use(std::uint64_t local_rail_bit, std::uint64_t remote_rail_bit) const {
    return (local_rails_ & local_rail_bit) && (remote_rails_ & remote_rail_bit);
  }

  // --- posting
  bool can_post() const { return posted_ - retired_ < kMessagesInFlight; }
  // REQUIRES: can_post(). On a failed stream the request ends at once with the stream's error.
  void post(void* request, const std::byte* data, std::uint64_t size, Completions& out, std::uint64_t tag = 0,
            std::uint64_t order = 0);
  std::uint64_t unfinished() const { return posted_ - done_; }
  // See railweave::SendStream::expedite().
  void expedite(std::uint64_t order) { expedited_below_ = std::max(expedited_below_, order + 1); }

  // --- the peer's statements. Errors (Scope::lane): the frame contradicts earlier ones.
  Status on_opened(const FrameHeader& header, std::string_view reason, Completions& out);
  Status on_grant(const FrameHeader& header, Completions& out);
  Status on_ack(const FrameHeader& header, Completions& out);
  // The receiver takes no more messages (close; `why` is OK) or failed (abort).
  void on_peer_close(Status why, Completions& out);

  // --- data
  struct Segment {
    FrameHeader header;
    std::span<const std::byte> payload;
  };
  // Bytes that can be cut now. has_segment() is true for an empty message, too.
  std::uint64_t sendable_bytes() const { return sendable_bytes_; }
  bool has_segment() const { return has_segment_; }
  // The order of the message from which cut() takes. REQUIRES: has_segment().
  std::uint64_t order() const { return at(requeued_.empty() ? cursor_ : requeued_.front().message).order; }
  bool expedited() const { return order() < expedited_below_; }
  // Cuts the next segment. `bytes_max`: a multiple of 128; a rest of less than a quarter of it is taken along.
  // REQUIRES: has_segment().
  Segment cut(std::uint32_t bytes_max);
  // The kernel has the segment.
  void on_written(const FrameHeader& segment, Completions& out);
  // Neither lane nor kernel refers to the segment's bytes any more.
  void on_released(const FrameHeader& segment, Completions& out);
  // The segment's lane is fenced, and the peer did not get the segment: queues it again. `written`: the kernel had it.
  void requeue(const FrameHeader& segment, bool written);

  // --- control
  // Fills in the next control frame; false: there is none. `payload` stays valid while the stream lives.
  bool next_control(FrameHeader& header, std::span<const std::byte>& payload);
  bool has_control() const { return open_pending_ || (answered_ && (close_pending_ || abort_pending_)); }
  // A control frame was lost with its lane: queues it again.
  void repeat_control(FrameType type);

  // --- ending
  // No more posts. If requests are unfinished, or OPEN is unanswered, the stream is cancelled and the peer gets ABORT;
  // else the peer gets CLOSE.
  void close(Completions& out);
  void fail(const Status& why, bool notify_peer, Completions& out);
  // An unfinished request uses memory in `range`.
  bool touches(std::span<const std::byte> range) const;
  bool opening() const { return state_ == State::opening; }
  bool opened() const { return state_ == State::open; }
  bool failed() const { return state_ == State::failed; }
  const Status& error() const { return error_; }
  // Nothing more happens here. The session may forget the stream once no lane's ledger names it.
  bool gone() const;

  FifoHook<SendStream> round_hook;    // RoundRobin: streams with a segment to send
  int turn_queue = 0;                 // RoundRobin: the stream's queue
  std::uint64_t turn_order = 0;       // RoundRobin: order() when queued there
  std::int64_t turn_bytes_left = 0;   // RoundRobin: bytes left of the stream's turn
  FifoHook<SendStream> control_hook;  // SessionProtocol: streams with a control frame to send
  std::uint64_t noted_bytes = 0;      // SessionProtocol: sendable_bytes() as last added up
  std::uint32_t ledger_frames = 0;    // frames in lane ledgers that name this stream

 private:
  enum class State { opening, open, closing, failed };
  struct Message {
    void* request = nullptr;
    const std::byte* data = nullptr;
    std::uint64_t size = 0;
    std::uint64_t tag = 0;
    std::uint64_t order = 0;
    std::uint64_t capacity = 0;    // bytes of the granted receive
    std::uint64_t cut = 0;         // bytes cut so far, in ascending order
    std::uint32_t unwritten = 0;   // segments taken by lanes and not yet in the kernel
    std::uint32_t unreleased = 0;  // segments whose bytes a lane or the kernel still refers to
    bool granted = false;
    bool started = false;  // a segment was cut: tells a sent empty message from an unsent one
    std::uint8_t eager_slot = 0;
    bool eager = false;
  };
  struct Range {
    std::uint64_t message, offset, length;
    std::uint32_t unwritten;  // 1: the lane took the segment and never wrote it; part of Message::unwritten
  };

  Message& at(std::uint64_t message) { return messages_[message % kMessageSlots]; }
  const Message& at(std::uint64_t message) const { return messages_[message % kMessageSlots]; }
  // Invariants of the message numbers below.
  bool numbers_hold() const {
    return retired_ <= done_ && done_ <= posted_ && retired_ <= acked_ && acked_ <= cursor_ && cursor_ <= posted_;
  }
  // `free_slots`: slots still free. `eager_bytes`: bytes of eager messages not acknowledged.
  bool could_be_eager(const Message& m, int free_slots, std::size_t eager_bytes) const;
  bool fits_grant(std::uint64_t message, Completions& out);
  void refresh();
  Status apply_ack(std::uint64_t below, Completions& out);
  void settle(Completions& out);
  Segment cut_requeued(std::uint32_t bytes_max);
  Segment segment_of(std::uint64_t message, std::uint64_t offset, std::uint64_t length);
  void make_eager(Message& m);

  const StreamId id_;
  const Priority priority_;
  const std::uint64_t listener_;
  const std::uint64_t local_rails_;
  std::uint64_t remote_rails_ = ~std::uint64_t{0};
  std::size_t eager_limit_bytes_;
  State state_ = State::opening;
  Status error_;
  std::string error_text_;  // payload of ABORT
  bool open_pending_ = true, close_pending_ = false, abort_pending_ = false;
  bool answered_ = false;  // the peer answered; a control frame that overtook OPEN would mean nothing to it
  bool notified_peer_ = false, user_done_ = false;

  // Message numbers: retired_ <= done_ <= posted_, retired_ <= acked_ <= cursor_ <= posted_.
  std::uint64_t posted_ = 0, done_ = 0, acked_ = 0, retired_ = 0;
  std::uint64_t cursor_ = 0;           // first message not wholly cut
  std::uint64_t expedited_below_ = 0;  // messages of lower order are expedited
  std::uint64_t sendable_bytes_ = 0;
  bool has_segment_ = false;
  std::array<Message, kMessageSlots> messages_;
  std::vector<Range> requeued_;           // bytes to retransmit; grows only when a lane was lost
  std::uint8_t free_eager_slots_ = 0xff;  // one bit for each free slot
  std::size_t eager_bytes_ = 0;           // in slots that are not free
  std::unique_ptr<std::byte[]> eager_copies_;
};
static_assert(kEagerSlots == 8, "free_eager_slots_ has a bit for each");

}  // namespace railweave::protocol

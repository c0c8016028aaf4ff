// The sending end of a stream: which bytes of which message are waiting, on a lane, or acknowledged.
//
// Life of a message: posted → cut into segments, oldest message first (eager: copied and sent without a grant, when it
// is small and a slot of the receiver's window is free; else when granted) → acknowledged → retired.
// Its request is done when the kernel has an eager message, or when the receiver has any other and nothing refers to
// its bytes any more; requests are done in posting order.
// Life of the stream: opening → open → closing → gone, or failed from any of them.
//
// One thread at a time (the session's owner). Memory: `data` of a message is referenced until its request ends; eager
// copies live here until acknowledged.
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
  Priority priority() const { return class_; }
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

  // --- what the peer says. Errors: the frame contradicts what is known (Scope::lane).
  Status on_opened(const FrameHeader& header, std::string_view reason, Completions& out);
  Status on_grant(const FrameHeader& header, Completions& out);
  Status on_ack(const FrameHeader& header, Completions& out);
  // The receiver takes no more (close) or failed (abort).
  void on_peer_close(Status why, Completions& out);

  // --- data
  struct Segment {
    FrameHeader header;
    std::span<const std::byte> payload;
  };
  // Bytes that could be cut now; `has_segment` is true for zero-byte messages too.
  std::uint64_t sendable_bytes() const { return sendable_bytes_; }
  bool has_segment() const { return has_segment_; }
  // The order of the message that cut() takes from. REQUIRES: has_segment().
  std::uint64_t order() const { return at(requeued_.empty() ? cursor_ : requeued_.front().message).order; }
  bool expedited() const { return order() < expedited_below_; }
  // REQUIRES: has_segment(). At most `bytes_max` (a multiple of 128), except that a short rest is taken along.
  Segment cut(std::uint32_t bytes_max);
  void on_written(const FrameHeader& segment, Completions& out);
  void on_released(const FrameHeader& segment, Completions& out);
  // The lane that carried the segment is fenced and the peer did not get it: it waits again.
  void requeue(const FrameHeader& segment, bool written);

  // --- control
  // The next control frame to send, if any; `payload` stays valid while the stream lives.
  bool next_control(FrameHeader& header, std::span<const std::byte>& payload);
  bool has_control() const { return open_pending_ || (answered_ && (close_pending_ || abort_pending_)); }
  // A control frame was lost with its lane.
  void repeat_control(FrameType type);

  // --- ending
  // No more posts. Unfinished requests end as cancelled and the peer gets ABORT; else it gets CLOSE.
  void close(Completions& out);
  void fail(const Status& why, bool notify_peer, Completions& out);
  bool touches(std::span<const std::byte> range) const;
  bool opening() const { return state_ == State::opening; }
  bool opened() const { return state_ == State::open; }
  bool failed() const { return state_ == State::failed; }
  const Status& error() const { return error_; }
  // Nothing will happen here any more; the session may forget the stream once no lane's ledger names it.
  bool gone() const;

  FifoHook<SendStream> round_hook;    // RoundRobin: streams with a segment to send
  int turn_queue = 0;                 // RoundRobin: where it is linked,
  std::uint64_t turn_order = 0;       // and its order() as of then
  std::int64_t turn_bytes_left = 0;   // RoundRobin: of this stream's turn
  FifoHook<SendStream> control_hook;  // Session: streams with a control frame to send
  std::uint64_t noted_bytes = 0;      // Session: sendable_bytes() as last added up
  std::uint32_t ledger_frames = 0;    // frames in lane ledgers that name this stream

 private:
  enum class State { opening, open, closing, failed };
  struct Message {
    void* request = nullptr;
    const std::byte* data = nullptr;
    std::uint64_t size = 0;
    std::uint64_t tag = 0;
    std::uint64_t order = 0;
    std::uint64_t capacity = 0;    // of the granted receive
    std::uint64_t cut = 0;         // bytes cut so far, in ascending order
    std::uint32_t unwritten = 0;   // segments taken and not yet in the kernel
    std::uint32_t unreleased = 0;  // segments whose bytes something still refers to
    bool granted = false;
    bool started = false;  // at least one segment was cut (tells a sent zero-byte message)
    std::uint8_t eager_slot = 0;
    bool eager = false;
  };
  struct Range {
    std::uint64_t message, offset, length;
    std::uint32_t unwritten;  // of Message::unwritten: its lane took it and never wrote it
  };

  Message& at(std::uint64_t message) { return messages_[message % kMessageSlots]; }
  const Message& at(std::uint64_t message) const { return messages_[message % kMessageSlots]; }
  // What is said below of the numbers of messages.
  bool numbers_hold() const {
    return retired_ <= done_ && done_ <= posted_ && retired_ <= acked_ && acked_ <= cursor_ && cursor_ <= posted_;
  }
  // With so many slots free and bytes of eager messages on their way.
  bool could_be_eager(const Message& m, int free_slots, std::size_t eager_bytes) const;
  bool fits_grant(std::uint64_t message, Completions& out);
  void refresh();
  Status apply_ack(std::uint64_t below, Completions& out);
  void settle(Completions& out);
  Segment cut_requeued(std::uint32_t bytes_max);
  Segment segment_of(std::uint64_t message, std::uint64_t offset, std::uint64_t length);
  void make_eager(Message& m);

  const StreamId id_;
  const Priority class_;
  const std::uint64_t listener_;
  const std::uint64_t local_rails_;
  std::uint64_t remote_rails_ = ~std::uint64_t{0};
  std::size_t eager_limit_bytes_;
  State state_ = State::opening;
  Status error_;
  std::string error_text_;  // payload of ABORT
  bool open_pending_ = true, close_pending_ = false, abort_pending_ = false;
  bool answered_ = false;  // OPENED came: what overtook the OPEN would mean nothing to the peer
  bool notified_peer_ = false, user_done_ = false;

  // Message numbers: retired_ <= done_ <= posted_, retired_ <= acked_ <= cursor_ <= posted_.
  std::uint64_t posted_ = 0, done_ = 0, acked_ = 0, retired_ = 0;
  std::uint64_t cursor_ = 0;           // first message not wholly cut
  std::uint64_t expedited_below_ = 0;  // messages of smaller order go first
  std::uint64_t sendable_bytes_ = 0;
  bool has_segment_ = false;
  std::array<Message, kMessageSlots> messages_;
  std::vector<Range> requeued_;  // grows only when a lane was lost
  std::uint8_t free_eager_slots_ = 0xff;
  std::size_t eager_bytes_ = 0;  // in slots that are not free
  std::unique_ptr<std::byte[]> eager_copies_;
};
static_assert(kEagerSlots == 8, "free_eager_slots_ has a bit for each");

}  // namespace railweave::protocol

#include "protocol/recv_stream.h"

#include <algorithm>
#include <cassert>

#include "base/ascending_copy.h"

namespace railweave::protocol {
namespace {

Status contradiction(StreamId id, const FrameHeader& h, const std::string& what) {
  return Status(Code::remote, Scope::lane,
                std::string(name_of(h.type)) + " for message " + std::to_string(h.message) + " of stream " +
                    std::to_string(id) + ": " + what);
}

}  // namespace

RecvStream::RecvStream(StreamId id, std::size_t eager_slot_bytes) : id_(id), eager_slot_bytes_(eager_slot_bytes) {}

void RecvStream::accept(std::uint64_t rail_mask, bool slots) {
  assert(!accepted_ && !refused_);
  if (state_ == State::open) {  // the peer has not ended the stream meanwhile
    messages_ = std::make_unique<std::array<Message, kMessageSlots>>();
    if (!slots) eager_slot_bytes_ = 0;
    if (eager_slot_bytes_ > 0)
      eager_slots_ = std::make_unique_for_overwrite<std::byte[]>(eager_slot_bytes_ * kEagerSlots);
  }
  rail_mask_ = rail_mask;
  accepted_ = opened_pending_ = true;
}

void RecvStream::refuse(std::string reason) {
  assert(!accepted_ && !refused_);
  error_text_ = reason.substr(0, kControlPayloadBytesMax);
  state_ = State::closed;
  opened_pending_ = refused_ = peer_done_ = user_done_ = true;
}

// ---------------------------------------------------------------------------------------------------------- posting

void RecvStream::post(void* request, std::byte* data, std::uint64_t capacity, Completions& out,
                      bool read_while_landing) {
  assert(can_post() && accepted_);
  if (state_ != State::open) {
    out.push_back({request, 0, error_});
    return;
  }
  const std::uint64_t message = posted_++;
  Message& m = at(message);
  m.request = request;
  m.data = data;
  m.capacity = capacity;
  m.posted = true;
  m.read_while_landing = read_while_landing;
  if (m.size_known && !fits(message, out)) return;
  if (m.in_slot && m.arrived) deliver_from_slot(m);
  advance(out);
}

bool RecvStream::fits(std::uint64_t message, Completions& out) {
  const Message& m = at(message);
  if (m.size <= m.capacity) return true;
  fail(Status(Code::truncated, Scope::stream,
              "message " + std::to_string(message) + " of stream " + std::to_string(id_) + " has " +
                  std::to_string(m.size) + " bytes, but its receive takes at most " + std::to_string(m.capacity)),
       true, out);
  return false;
}

void RecvStream::deliver_from_slot(Message& m) {
  assert(m.posted && m.arrived && m.size <= m.capacity && m.size <= eager_slot_bytes_);
  if (m.size > 0) ascending_copy(m.data, slot(m.eager_slot, m.size).data(), m.size);
  m.complete = true;
}

// -------------------------------------------------------------------------------------------------------------- data

Result<std::span<std::byte>> RecvStream::on_segment(const FrameHeader& h, Completions& out) {
  const std::span<std::byte> nowhere{static_cast<std::byte*>(nullptr), h.length};
  if (state_ != State::open || peer_lost_) return nowhere;
  if (!accepted_) return contradiction(id_, h, "its stream was not accepted yet");
  if (h.message < ready_) return contradiction(id_, h, "it is complete already");
  if (h.message >= ready_ + kMessagesInFlight)
    return contradiction(id_, h, "expected below " + std::to_string(ready_ + kMessagesInFlight));
  Message& m = at(h.message);
  const auto segment = SegmentFrame::of(h);
  if (m.size_known && m.size != segment.size)
    return contradiction(id_, h, "size " + std::to_string(segment.size) + ", before it was " + std::to_string(m.size));
  if (m.size_known && m.tag != segment.tag)
    return contradiction(id_, h, "tag " + std::to_string(segment.tag) + ", before it was " + std::to_string(m.tag));
  if (m.placed + segment.length > segment.size) return contradiction(id_, h, "more bytes than it has");
  if (m.placed > 0 && m.eager != segment.eager)
    return contradiction(id_, h, segment.eager ? "suddenly eager" : "eager before");
  if (segment.eager) return on_eager(h, m, out);
  if (!m.posted) return contradiction(id_, h, "it was not granted");
  if (segment.size > m.capacity)
    return contradiction(id_, h, std::to_string(segment.size) + " bytes, granted " + std::to_string(m.capacity));
  learn(m, segment);
  m.placed += segment.length;
  return place_in(m.data, m.capacity, segment);
}

// The segment's place in `memory`, which has room for `capacity` bytes of the message.
std::span<std::byte> RecvStream::place_in(std::byte* memory, std::uint64_t capacity, const SegmentFrame& segment) {
  assert(segment.offset <= capacity && segment.length <= capacity - segment.offset);
  return {memory + segment.offset, segment.length};
}

void RecvStream::learn(Message& m, const SegmentFrame& segment) {
  if (m.size_known) return;
  m.size_known = true;
  m.size = segment.size;
  m.tag = segment.tag;
}

Result<std::span<std::byte>> RecvStream::on_eager(const FrameHeader& h, Message& m, Completions& out) {
  const std::span<std::byte> nowhere{static_cast<std::byte*>(nullptr), h.length};
  const auto segment = SegmentFrame::of(h);
  const bool other_slot = m.eager && (segment.size == 0 || segment.eager_slot != m.eager_slot);
  if (segment.size > eager_slot_bytes_ || segment.eager_slot >= kEagerSlots || other_slot)
    return contradiction(id_, h,
                         "eager segment [" + std::to_string(segment.offset) + ", +" + std::to_string(segment.length) +
                             ") of " + std::to_string(segment.size) + " bytes in slot " +
                             std::to_string(segment.eager_slot));
  learn(m, segment);
  m.placed += segment.length;
  if (!m.eager) m.in_slot = !m.posted;  // all segments of a message go where the first one went
  m.eager = true;
  m.eager_slot = std::uint8_t(segment.eager_slot);
  if (m.in_slot) return place_in(slot(m.eager_slot, segment.size).data(), eager_slot_bytes_, segment);
  if (!fits(segment.message, out)) return nowhere;
  return place_in(m.data, m.capacity, segment);
}

void RecvStream::on_segment_lost(const FrameHeader& h) {
  if (state_ != State::open || peer_lost_ || h.message < ready_) return;
  Message& m = at(h.message);
  assert(m.placed >= m.received + h.length && "the segment was landing");
  m.placed -= h.length;
  if (m.placed == 0) m.eager = m.in_slot = false;
}

Status RecvStream::on_consumed(const FrameHeader& h, Completions& out) {
  if (state_ != State::open || peer_lost_) return {};
  if (h.message < ready_) return contradiction(id_, h, "it is complete already");  // an empty segment on two lanes
  Message& m = at(h.message);
  m.received += h.length;
  assert(m.received <= m.placed && m.placed <= m.size);
  if (m.received == m.size) {
    m.arrived = true;
    if (!m.in_slot) {
      m.complete = true;
    } else if (m.posted) {
      deliver_from_slot(m);
    }
  }
  advance(out);
  return {};
}

void RecvStream::advance(Completions& out) {
  for (; ready_ < posted_ && at(ready_).complete; ++ready_) ack_urgent_ = ack_urgent_ || !at(ready_).eager;
  ack_urgent_ = ack_urgent_ || ready_ - ack_sent_ >= kEagerSlots / 2;  // else the sender runs out of slots
  publish(ack_written_, out);
  assert(numbers_hold());
}

// Ends the requests of complete messages in order: eager ones at once, others below `acked`.
void RecvStream::publish(std::uint64_t acked, Completions& out) {
  for (; published_ < ready_ && (at(published_).eager || published_ < acked); ++published_) {
    Message& m = at(published_);
    assert(m.posted && m.complete && "a request ends once");
    out.push_back({m.request, m.size, {}, m.tag});
    m = Message{};
  }
  if (!final_known_ || published_ < final_ || posted_ <= final_) return;
  if (final_error_.ok())
    final_error_ =
        Status(Code::left, Scope::stream,
               "the peer closed stream " + std::to_string(id_) + " after " + std::to_string(final_) + " messages");
  if (state_ != State::open) return;
  fail(final_error_, false, out);
  close_pending_ = true;  // a sender that closed in good order still waits for the acks
}

// ---------------------------------------------------------------------------------------------- the peer's statements

Status RecvStream::on_close(const FrameHeader& h, Completions& out) {
  peer_done_ = true;
  if (state_ != State::open) return {};
  if (h.message < ready_) return contradiction(id_, h, "but " + std::to_string(ready_) + " messages are complete");
  final_known_ = true;
  final_ = h.message;
  publish(ack_written_, out);
  return {};
}

void RecvStream::on_abort(Status why, Completions& out) {
  peer_done_ = true;
  fail(why, false, out);
}

// ----------------------------------------------------------------------------------------------------------- control

FrameHeader RecvStream::grant(std::uint64_t message) {
  Message& m = at(message);
  assert(ready_ <= message && message < posted_ && m.posted);
  m.grant_due = false;
  ack_sent_ = ready_;
  ack_urgent_ = false;
  return GrantFrame{.stream = id_, .message = message, .capacity = m.capacity, .acked = ready_};
}

FrameHeader RecvStream::next_lazy() {
  granted_ = std::max(granted_, ready_);
  return granted_ < posted_ ? grant(granted_++) : ack();
}

FrameHeader RecvStream::ack() {
  ack_sent_ = ready_;
  ack_urgent_ = false;
  return AckFrame{.stream = id_, .acked = ready_};
}

bool RecvStream::next_control(FrameHeader& h, std::span<const std::byte>& payload) {
  payload = {};
  if (opened_pending_) {
    opened_pending_ = false;
    if (refused_) payload = std::as_bytes(std::span(error_text_));
    h = OpenedFrame{.stream = id_,
                    .rail_mask = rail_mask_,
                    .eager_slot_bytes = eager_slot_bytes_,
                    .refused = refused_,
                    .length = std::uint32_t(payload.size())};
    return true;
  }
  if (state_ == State::open) {
    if (grants_urgent() || (ack_urgent_ && ungranted() > 0)) return h = next_lazy(), true;
    if (grants_due_) {
      for (std::uint64_t i = ready_; i < granted_; ++i)
        if (at(i).grant_due) return h = grant(i), true;
      grants_due_ = false;
    }
    if (ack_urgent_) return h = ack(), true;
  }
  if (abort_pending_) {
    abort_pending_ = close_pending_ = false;
    payload = std::as_bytes(std::span(error_text_));
    h = AbortFrame{
        .stream = id_, .code = error_.code(), .from_receiver = true, .length = std::uint32_t(payload.size())};
    return true;
  }
  if (close_pending_) {
    close_pending_ = false;
    const std::uint64_t acked = final_known_ ? std::min(ready_, final_) : ready_;  // includes acks that were lazy
    h = CloseFrame{.stream = id_, .messages = acked, .from_receiver = true};
    return true;
  }
  return false;
}

void RecvStream::on_ack_written(const FrameHeader& h, Completions& out) {
  if (state_ != State::open) return;
  assert(ack_in(h) <= ready_);
  ack_written_ = std::max(ack_written_, ack_in(h));
  publish(ack_written_, out);
}

void RecvStream::publish_without_ack(Completions& out) {
  if (state_ == State::open) publish(ready_, out);
}

void RecvStream::repeat_control(const FrameHeader& lost) {
  switch (lost.type) {
    case FrameType::opened: opened_pending_ = true; break;
    case FrameType::ack: ack_urgent_ = state_ == State::open; break;
    case FrameType::close: close_pending_ = true; break;
    case FrameType::abort: abort_pending_ = true; break;
    case FrameType::grant:
      ack_urgent_ = state_ == State::open;
      if (lost.message >= ready_ && lost.message < granted_) at(lost.message).grant_due = grants_due_ = true;
      break;
    default: break;
  }
}

// ------------------------------------------------------------------------------------------------------------ ending

void RecvStream::close(Completions& out) {
  if (state_ == State::open) {
    const Status why(Code::cancelled, Scope::stream, "stream " + std::to_string(id_) + " was closed by the receiver");
    if (unfinished() > 0) {
      fail(why, true, out);
    } else {
      end(State::closed, why, out);
      close_pending_ = true;
    }
  }
  user_done_ = true;  // last: a stream that ran out of memory above must not seem gone before close() is repeated
}

void RecvStream::fail(const Status& why, bool notify_peer, Completions& out) {
  if (state_ != State::open) return;
  error_text_ = why.message().substr(0, kControlPayloadBytesMax);
  end(State::failed, why, out);
  abort_pending_ = notify_peer;
}

void RecvStream::end(State state, const Status& why, Completions& out) {
  make_room(out, unfinished());  // first, since it may throw: a stream that ended half-way would never end
  state_ = state;
  error_ = why;
  for (; published_ < posted_; ++published_) out.push_back({at(published_).request, 0, error_});
  assert(unfinished() == 0);
  ready_ = granted_ = ack_sent_ = posted_;
  ack_urgent_ = grants_due_ = false;
}

void RecvStream::on_peer_lost(const Status& why, Completions& out) {
  if (state_ != State::open) return;
  peer_lost_ = peer_done_ = final_known_ = slots_idle_ = true;
  final_error_ = why;
  for (final_ = published_; messages_ && final_ < published_ + kMessagesInFlight && at(final_).arrived; ++final_)
    slots_idle_ = slots_idle_ && !at(final_).in_slot;
  publish(ready_, out);
}

void RecvStream::free_memory() {
  if (landing > 0) return;
  if (state_ != State::open) messages_.reset();
  if (state_ != State::open || slots_idle_) eager_slots_.reset();
}

bool RecvStream::touches(std::span<const std::byte> range) const {
  for (std::uint64_t i = published_; i < posted_; ++i) {
    const Message& m = at(i);
    if (m.capacity > 0 && m.data < range.data() + range.size() && range.data() < m.data + m.capacity) return true;
  }
  return false;
}

}  // namespace railweave::protocol

#include "protocol/send_stream.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

#include "protocol/frame_fields.h"

namespace railweave::protocol {
namespace {

Status contradiction(const char* frame, StreamId id, const std::string& what) {
  return Status(Code::remote, Scope::lane, std::string(frame) + " for stream " + std::to_string(id) + ": " + what);
}

}  // namespace

SendStream::SendStream(StreamId id, Priority priority, std::uint64_t listener, std::uint64_t rail_mask,
                       std::size_t eager_limit_bytes)
    : id_(id),
      priority_(priority),
      listener_(listener),
      local_rails_(rail_mask),
      eager_limit_bytes_(eager_limit_bytes) {
  if (eager_limit_bytes_ > 0)
    eager_copies_ = std::make_unique_for_overwrite<std::byte[]>(eager_limit_bytes_ * kEagerSlots);
}

// ---------------------------------------------------------------------------------------------------------- posting

void SendStream::post(void* request, const std::byte* data, std::uint64_t size, Completions& out, std::uint64_t tag,
                      std::uint64_t order) {
  assert(can_post());
  if (failed()) {
    out.push_back({request, 0, error_});
    return;
  }
  const std::uint64_t message = posted_++;
  Message& m = at(message);
  // A grant may have come before the send was posted: its contents are kept.
  const bool granted_before = m.granted && m.request == nullptr;
  const std::uint64_t capacity = m.capacity;
  m = Message{};
  m.request = request;
  m.data = data;
  m.size = size;
  m.tag = tag;
  m.order = order;
  if (granted_before) {
    m.granted = true;
    m.capacity = capacity;
    if (!fits_grant(message, out)) return;
  }
  refresh();
}

bool SendStream::fits_grant(std::uint64_t message, Completions& out) {
  const Message& m = at(message);
  if (m.size <= m.capacity) return true;
  fail(Status(Code::truncated, Scope::stream,
              "message " + std::to_string(message) + " of stream " + std::to_string(id_) + " has " +
                  std::to_string(m.size) + " bytes, but its receive takes at most " + std::to_string(m.capacity)),
       true, out);
  return false;
}

// ---------------------------------------------------------------------------------------------- the peer's statements

Status SendStream::on_opened(const FrameHeader& header, std::string_view reason, Completions& out) {
  answered_ = true;
  if (state_ != State::opening) return {};  // OPENED came twice after a lane was lost, or the stream ended meanwhile
  const auto opened = OpenedFrame::of(header);
  if (opened.refused) {
    notified_peer_ = true;
    fail(Status(Code::remote, Scope::stream,
                "the peer refused stream " + std::to_string(id_) + ": " + std::string(reason)),
         false, out);
    return {};
  }
  assert(eager_bytes_ == 0 && "slots keep their size while one is in use");
  state_ = State::open;
  remote_rails_ = opened.rail_mask;
  eager_limit_bytes_ = std::min<std::size_t>(eager_limit_bytes_, opened.eager_slot_bytes);
  refresh();
  return {};
}

Status SendStream::on_grant(const FrameHeader& header, Completions& out) {
  if (failed()) return {};
  const auto grant = GrantFrame::of(header);
  if (grant.acked > acked_)
    if (Status s = apply_ack(grant.acked, out); !s.ok()) return s;
  if (grant.message < acked_) return {};  // late: the grant no longer holds
  if (grant.message >= acked_ + kMessagesInFlight)
    return contradiction(
        "GRANT", id_,
        "message " + std::to_string(grant.message) + ", expected below " + std::to_string(acked_ + kMessagesInFlight));
  Message& m = at(grant.message);
  if (grant.message >= posted_ && !m.granted) m = Message{};
  m.granted = true;
  m.capacity = grant.capacity;
  // After CLOSE everything is done here, and no ABORT can follow. The receiver detects the failure by the message's
  // size.
  if (grant.message < posted_ && state_ != State::closing && !fits_grant(grant.message, out)) return {};
  refresh();
  return {};
}

Status SendStream::on_ack(const FrameHeader& header, Completions& out) {
  if (failed() || header.message <= acked_) return {};
  return apply_ack(header.message, out);
}

Status SendStream::apply_ack(std::uint64_t below, Completions& out) {
  if (below > posted_)
    return contradiction(
        "ACK", id_,
        "below message " + std::to_string(below) + ", but only " + std::to_string(posted_) + " were posted");
  for (std::uint64_t i = acked_; i < below; ++i) {
    const Message& m = at(i);
    if (!m.started || m.cut != m.size)
      return contradiction("ACK", id_, "message " + std::to_string(i) + " was not sent yet");
  }
  acked_ = below;
  std::erase_if(requeued_, [this](const Range& r) { return r.message < acked_; });
  settle(out);
  assert(numbers_hold());  // not in settle(), which runs several times for each segment
  refresh();
  return {};
}

void SendStream::on_peer_close(Status why, Completions& out) {
  if (why.ok()) why = Status(Code::left, Scope::stream, "the peer closed stream " + std::to_string(id_));
  answered_ = true;
  fail(why, false, out);
}

// -------------------------------------------------------------------------------------------------------------- data

bool SendStream::could_be_eager(const Message& m, int free_slots, std::size_t eager_bytes) const {
  return m.cut == 0 && m.size <= eager_limit_bytes_ && free_slots > 0 &&
         (priority_ == Priority::urgent || eager_bytes == 0 || eager_bytes + m.size <= kEagerBytesMax);
}

// Recomputes the bytes that can be cut now. Walks the posted messages that are not wholly cut: a handful.
void SendStream::refresh() {
  sendable_bytes_ = 0;
  has_segment_ = false;
  if (state_ != State::open && state_ != State::closing) return;
  for (const Range& r : requeued_) sendable_bytes_ += r.length;
  has_segment_ = !requeued_.empty();
  int eager_slots = std::popcount(free_eager_slots_);
  std::size_t eager_bytes = eager_bytes_;
  for (std::uint64_t i = cursor_; i < posted_; ++i) {
    const Message& m = at(i);
    if (could_be_eager(m, eager_slots, eager_bytes)) {
      --eager_slots;
      eager_bytes += m.size;
    } else if (!m.eager && !m.granted) {
      break;
    }
    sendable_bytes_ += m.size - m.cut;
    has_segment_ = true;
  }
}

SendStream::Segment SendStream::segment_of(std::uint64_t message, std::uint64_t offset, std::uint64_t length) {
  Message& m = at(message);
  assert(m.size >= offset && m.size - offset >= length && length <= kSegmentBytesMax);
  assert(acked_ <= message && message < posted_ && "what the receiver has does not go again");
  ++m.unwritten;
  ++m.unreleased;
  m.started = true;
  Segment s;
  s.header = SegmentFrame{.stream = id_,
                          .length = std::uint32_t(length),
                          .message = message,
                          .offset = offset,
                          .size = m.size,
                          .tag = m.tag,
                          .eager = m.eager,
                          .eager_slot = m.eager_slot};
  const std::byte* from = m.eager ? eager_copies_.get() + m.eager_slot * eager_limit_bytes_ : m.data;
  if (length > 0) s.payload = {from + offset, std::size_t(length)};
  return s;
}

void SendStream::make_eager(Message& m) {
  assert(m.size <= eager_limit_bytes_ && free_eager_slots_ != 0);
  m.eager = true;
  eager_bytes_ += m.size;
  m.eager_slot = std::uint8_t(std::countr_zero(free_eager_slots_));
  free_eager_slots_ &= std::uint8_t(free_eager_slots_ - 1);
  if (m.size > 0) std::memcpy(eager_copies_.get() + m.eager_slot * eager_limit_bytes_, m.data, m.size);
}

SendStream::Segment SendStream::cut_requeued(std::uint32_t bytes_max) {
  Range& r = requeued_.front();
  const std::uint64_t length = std::min<std::uint64_t>(r.length, bytes_max);
  Segment s = segment_of(r.message, r.offset, length);
  r.offset += length;
  r.length -= length;
  if (r.length == 0) {
    assert(at(r.message).unwritten >= r.unwritten);
    at(r.message).unwritten -= r.unwritten;  // last: the message is written only when this whole range is
    requeued_.erase(requeued_.begin());
  }
  refresh();
  return s;
}

SendStream::Segment SendStream::cut(std::uint32_t bytes_max) {
  assert(has_segment_);
  if (!requeued_.empty()) return cut_requeued(bytes_max);
  assert(cursor_ < posted_);
  const std::uint64_t message = cursor_;
  Message& m = at(message);
  if (could_be_eager(m, std::popcount(free_eager_slots_), eager_bytes_)) make_eager(m);
  const std::uint64_t left = m.size - m.cut;
  std::uint64_t length = std::min<std::uint64_t>(left, bytes_max);
  const std::uint64_t rest = left - length;
  if (rest < bytes_max / 4 && left <= kSegmentBytesMax) length = left;
  if (m.cut + length < m.size && length > kLineBytes) length = length / kLineBytes * kLineBytes;
  const std::uint64_t offset = m.cut;
  m.cut += length;
  assert(m.cut <= m.size && (m.eager || m.granted));
  if (m.cut == m.size) ++cursor_;
  Segment s = segment_of(message, offset, length);
  refresh();
  return s;
}

void SendStream::on_written(const FrameHeader& segment, Completions& out) {
  if (failed() || segment.message < retired_) return;
  assert(at(segment.message).unwritten > 0);
  --at(segment.message).unwritten;
  settle(out);
}

void SendStream::on_released(const FrameHeader& segment, Completions& out) {
  if (failed() || segment.message < retired_) return;
  assert(at(segment.message).unreleased > 0);
  --at(segment.message).unreleased;
  settle(out);
  refresh();
}

void SendStream::requeue(const FrameHeader& segment, bool written) {
  if (failed() || segment.message < acked_) return;
  requeued_.push_back({segment.message, SegmentFrame::of(segment).offset, segment.length, written ? 0u : 1u});
  refresh();
}

// Ends requests and retires messages, oldest first.
void SendStream::settle(Completions& out) {
  for (; done_ < posted_; ++done_) {
    Message& m = at(done_);
    const bool eager_done = m.eager && m.cut == m.size && m.unwritten == 0;
    const bool acked_done = done_ < acked_ && m.unreleased == 0;
    if (!eager_done && !acked_done) break;
    out.push_back({m.request, m.size, {}});
  }
  for (; retired_ < acked_ && retired_ < done_ && at(retired_).unreleased == 0; ++retired_) {
    Message& m = at(retired_);
    // Not earlier: the ack may come before the lane returns from the system call that reads the copy.
    if (m.eager) {
      assert((free_eager_slots_ & (1u << m.eager_slot)) == 0 && eager_bytes_ >= m.size);
      free_eager_slots_ |= std::uint8_t(1u << m.eager_slot);
      eager_bytes_ -= m.size;
    }
    m = Message{};
  }
}

// ----------------------------------------------------------------------------------------------------------- control

bool SendStream::next_control(FrameHeader& header, std::span<const std::byte>& payload) {
  payload = {};
  if (open_pending_) {
    open_pending_ = false;
    header = OpenFrame{
        .stream = id_, .priority = std::uint16_t(priority_), .listener = listener_, .rail_mask = local_rails_};
    return true;
  }
  if (!answered_) return false;
  if (abort_pending_) {
    abort_pending_ = close_pending_ = false;
    payload = std::as_bytes(std::span(error_text_));
    header = AbortFrame{.stream = id_, .code = error_.code(), .length = std::uint32_t(payload.size())};
    return true;
  }
  if (close_pending_) {
    close_pending_ = false;
    header = CloseFrame{.stream = id_, .messages = posted_};
    return true;
  }
  return false;
}

void SendStream::repeat_control(FrameType type) {
  if (type == FrameType::open) open_pending_ = true;
  if (type == FrameType::close) close_pending_ = true;
  if (type == FrameType::abort) abort_pending_ = true;
}

// ------------------------------------------------------------------------------------------------------------ ending

void SendStream::close(Completions& out) {
  if (!failed() && state_ != State::closing && (unfinished() > 0 || state_ == State::opening))
    fail(Status(Code::cancelled, Scope::stream, "stream " + std::to_string(id_) + " was closed by the sender"), true,
         out);
  user_done_ = true;  // last: a stream that ran out of memory above must not seem gone before close() is repeated
  if (state_ == State::closing || notified_peer_) return;
  if (!failed()) state_ = State::closing;
  close_pending_ = notified_peer_ = true;
}

void SendStream::fail(const Status& why, bool notify_peer, Completions& out) {
  if (failed()) return;
  make_room(out, unfinished());  // first, since it may throw: a stream that failed half-way would never end
  error_text_ = why.message().substr(0, kControlPayloadBytesMax);
  error_ = why;
  state_ = State::failed;
  abort_pending_ = notify_peer && !notified_peer_;
  notified_peer_ = notified_peer_ || notify_peer;
  // Messages that the receiver has end well, even if their lane has not reported the release of their bytes yet.
  for (; done_ < acked_; ++done_) out.push_back({at(done_).request, at(done_).size, {}});
  for (; done_ < posted_; ++done_) out.push_back({at(done_).request, 0, error_});
  assert(unfinished() == 0);
  retired_ = acked_ = cursor_ = posted_;
  requeued_.clear();
  refresh();
}

bool SendStream::touches(std::span<const std::byte> range) const {
  for (std::uint64_t i = done_; i < posted_; ++i) {
    const Message& m = at(i);
    if (m.size > 0 && m.data < range.data() + range.size() && range.data() < m.data + m.size) return true;
  }
  return false;
}

bool SendStream::gone() const {
  return user_done_ && !open_pending_ && !close_pending_ && !abort_pending_ && acked_ == posted_;
}

}  // namespace railweave::protocol

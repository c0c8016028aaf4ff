// Incoming frames: places for segments, and the peer's statements.
#include <cassert>
#include <utility>

#include "protocol/session_protocol.h"

namespace railweave::protocol {
namespace {

constexpr StreamId kOpenGapMax = 1024;  // so many OPENs may overtake the OPEN of an earlier stream

Status unknown_stream(const FrameHeader& h) {
  return Status(Code::remote, Scope::lane,
                std::string("malformed frame: ") + name_of(h.type) + " for stream " + std::to_string(h.stream) +
                    ", which was never opened");
}

Status from_peer(const FrameHeader& h, std::string_view text) {
  const Code code = AbortFrame::of(h).code == Code::truncated ? Code::truncated : Code::left;
  return Status(code, Scope::stream, "the peer gave up the stream: " + std::string(text));
}

}  // namespace

Result<std::span<std::byte>> SessionProtocol::on_header(LaneId id, ConstHeaderBytes bytes) {
  Lane& lane = known(id);
  if (lane.state != Lane::State::live)
    return Status(Code::cancelled, Scope::lane, "lane " + std::to_string(id) + " was given up before");
  Result<FrameHeader> decoded = decode(bytes);
  if (!decoded.ok()) return decoded.status();
  const FrameHeader& h = lane.incoming = *decoded;
  if (Status s = lane.ledger.on_header(h.sequence); !s.ok()) return s;
  if (Status s = lane.ledger.on_peer_consumed(h.consumed); !s.ok()) return s;
  if (lane.ledger.all_consumed()) {
    lane.view.outstanding_bytes = 0;  // the kernel need not be asked
    lane.estimator.drained();
    prove(lane, lane.taken_bytes);
  }
  forget_finished(lane);
  if (h.type != FrameType::segment) return std::span(lane.control_payload).first(h.length);
  if (RecvStream* s = find_recv(h.stream)) {
    Result<std::span<std::byte>> target = s->on_segment(h, completions_);
    if (target.ok()) {
      assert(target->size() == h.length && lane.landing == nullptr);
      lane.landing = s;
      ++s->landing;
    }
    note(*s);
    return target;
  }
  if (h.stream >= next_recv_id_) return unknown_stream(h);
  return std::span<std::byte>(static_cast<std::byte*>(nullptr), h.length);  // the stream is closed already: discard
}

bool SessionProtocol::lands(LaneId id, StreamId stream) const {
  const Lane* lane = find(id);
  return lane != nullptr && lane->landing != nullptr && lane->landing->id() == stream;
}

bool SessionProtocol::is_read_while_landing(LaneId id) const {
  const Lane* lane = find(id);
  return lane != nullptr && lane->landing != nullptr && lane->landing->read_while_landing(lane->incoming.message);
}

Status SessionProtocol::on_consumed(LaneId id) {
  Lane& lane = known(id);
  lane.ledger.on_consumed();
  ++consumed_frames_;
  const FrameHeader h = lane.incoming;
  note_arrival(lane, h);
  if (lane.retires && h.type != FrameType::keep) send_any_frame(id);
  note_retired(lane);
  if (h.type != FrameType::segment)
    return on_control(lane, h, {reinterpret_cast<const char*>(lane.control_payload.data()), h.length});
  ++exchanged_segments_;
  RecvStream* s = std::exchange(lane.landing, nullptr);
  if (s == nullptr) return {};
  assert(s->landing > 0);
  --s->landing;
  const Status status = s->on_consumed(h, completions_);
  note(*s);
  return status;
}

Status SessionProtocol::on_control(Lane& lane, const FrameHeader& h, std::string_view payload) {
  switch (h.type) {
    case FrameType::keep:
      if (KeepFrame::of(h).answer_me) send_any_frame(lane.id);
      return {};
    case FrameType::fence: return on_fence(h);
    case FrameType::retire: on_retire(h); return {};
    case FrameType::window: on_window(h); return {};
    case FrameType::goodbye:
      peer_goodbye_ = true;
      events_.push_back({Event::Kind::goodbye, 0, 0, 0, {}});
      return {};
    case FrameType::rails:
      if (rail_updates_.apply(h, payload)) events_.push_back({Event::Kind::rails_announced, 0, 0, 0, {}});
      return {};
    case FrameType::open: return on_open(h);
    default: return names_receiver(h) ? on_receiver_control(h, payload) : on_sender_control(h, payload);
  }
}

Status SessionProtocol::on_open(const FrameHeader& h) {
  if (RecvStream* known = find_recv(h.stream); known ? known->open_seen : h.stream < next_recv_id_)
    return {};  // retransmitted after a lane was lost
  const auto open = OpenFrame::of(h);
  if (open.priority >= kPriorities)
    return Status(Code::remote, Scope::lane,
                  "malformed frame: OPEN with priority " + std::to_string(open.priority) + ", expected 0..2");
  if (recv_streams_.size() >= kStreamsMax)
    return Status(Code::remote, Scope::session,
                  "the peer opened more than " + std::to_string(kStreamsMax) + " streams");
  if (unaccepted_ >= kUnacceptedMax)
    return Status(Code::remote, Scope::session,
                  "the peer has more than " + std::to_string(kUnacceptedMax) + " streams open that nobody accepted");
  if (h.stream >= next_recv_id_ && h.stream - next_recv_id_ > kOpenGapMax)
    return Status(Code::remote, Scope::lane,
                  "malformed frame: OPEN of stream " + std::to_string(h.stream) + ", expected about " +
                      std::to_string(next_recv_id_));
  // OPENs may overtake each other on different lanes: every id up to the highest one exists.
  for (; next_recv_id_ <= h.stream; ++next_recv_id_, ++unaccepted_) {
    auto stream = std::make_unique<RecvStream>(next_recv_id_, options_.eager_limit_bytes);
    recv_streams_.emplace(next_recv_id_, std::move(stream));
  }
  find_recv(h.stream)->open_seen = true;
  events_.push_back({Event::Kind::incoming, h.stream, 0, open.listener, {}});
  return {};
}

Status SessionProtocol::on_sender_control(const FrameHeader& h, std::string_view payload) {
  RecvStream* s = find_recv(h.stream);
  if (s == nullptr) return h.stream < next_recv_id_ ? Status() : unknown_stream(h);
  Status status;
  if (h.type == FrameType::close) {
    status = s->on_close(h, completions_);
  } else if (h.type == FrameType::abort) {
    s->on_abort(from_peer(h, payload), completions_);
  } else {
    status = Status(Code::remote, Scope::lane, std::string("malformed frame: ") + name_of(h.type) + " from a sender");
  }
  note(*s);
  return status;
}

Status SessionProtocol::on_receiver_control(const FrameHeader& h, std::string_view payload) {
  SendStream* s = find_send(h.stream);
  if (s == nullptr) return h.stream < next_send_id_ ? Status() : unknown_stream(h);
  const bool opening = s->opening();
  Status status;
  switch (h.type) {
    case FrameType::grant: status = s->on_grant(h, completions_); break;
    case FrameType::ack: status = s->on_ack(h, completions_); break;
    case FrameType::close:
      status = s->on_ack(h, completions_);
      s->on_peer_close({}, completions_);
      break;
    case FrameType::abort: s->on_peer_close(from_peer(h, payload), completions_); break;
    case FrameType::opened: status = s->on_opened(h, payload, completions_); break;
    default:
      status =
          Status(Code::remote, Scope::lane, std::string("malformed frame: ") + name_of(h.type) + " from a receiver");
  }
  // The peer's first frame for the stream, of any type, is its answer to our OPEN.
  if (opening && !s->opening()) events_.push_back({Event::Kind::opened, h.stream, 0, 0, s->error()});
  note(*s);
  return status;
}

}  // namespace railweave::protocol

// Outgoing frames of a lane: control first, then data by round robin (round_robin.h) and earliest completion (decisions
// D3, D4).
#include <algorithm>
#include <array>
#include <cassert>
#include <tuple>
#include <utility>

#include "protocol/session_protocol.h"

namespace railweave::protocol {
namespace {

constexpr std::uint64_t kQueueBytes = 64 * KiB;  // less is one message that needs no grant, more is several messages

// Rounds up, so that a single waiting byte is announced.
std::uint32_t kib_of(std::uint64_t bytes) {
  return std::uint32_t(std::min<std::uint64_t>((bytes + KiB - 1) / KiB, ~std::uint32_t{0}));
}

constexpr std::array<std::byte, kControlPayloadBytesMax> kPadding{};

}  // namespace

std::size_t SessionProtocol::next_frames(LaneId id, std::span<OutgoingFrame> frames, bool flush) {
  Lane* lane = find(id);
  if (lane == nullptr || lane->state != Lane::State::live || !error_.ok()) return 0;
  std::size_t n = 0;
  const bool serving = serves(*lane), control = serving && carries_control(*lane);
  if (lane->owes_heartbeat_probe && !frames.empty() && lane->ledger.has_room_for_report()) {
    frames[0] = {KeepFrame{.answer_me = true}, {}};
    lane->owes_heartbeat_probe = false;
    take(*lane, frames[n++]);
  }
  if (control) n += take_control(*lane, frames.subspan(n));
  // Behind so much data, a grant would arrive only after the peer has used up its earlier grants.
  if (control && waiting_bytes_ >= kQueueBytes && worth_refilling(lane->view)) n += take_lazy(*lane, frames.subspan(n));
  if (owes_padding(*lane)) n += take_padding(*lane, frames.subspan(n), LaneProbe::kBytes - lane->taken_bytes);
  if (serving && !is_held_back(*lane)) n += take_data(*lane, frames.subspan(n));
  if (control && (n > 0 || flush)) n += take_lazy(*lane, frames.subspan(n));
  const bool owes = lane->ledger.owes_report() || lane->owes_any_frame;
  if (n == 0 && owes && lane->ledger.has_room_for_report()) {
    frames[0] = {};
    take(*lane, frames[n++]);
  }
  if (n > 0 && std::exchange(lane->owes_any_frame, false)) --owing_lanes_;
  assert(n <= frames.size() && owing_lanes_ >= 0);
  return n;
}

// A lane that is doubtful, or was added after a loss, gets LaneProbe::kBytes of padding while a proven lane is there.
// Such a lane gets no data until all the padding is acknowledged.
bool SessionProtocol::is_held_back(const Lane& lane) const {
  if (lane.proven) return false;
  return std::ranges::any_of(lanes_, [this](const auto& other) { return serves(*other) && other->proven; });
}

// Control goes by the lane that delivers it first, and so never queues behind a slow lane's backlog. A lane that is
// late or not proven yet ranks behind all others.
bool SessionProtocol::carries_control(const Lane& lane) const {
  const auto delay = [](const Lane& l) {
    if (!l.view.rate_known) return l.view.min_rtt / 2 + Nanos(std::int64_t(l.view.outstanding_bytes));
    return l.view.rate.time_for(double(l.view.outstanding_bytes)) + l.view.min_rtt / 2;
  };
  const auto rank = [&](const Lane& l) { return std::tuple(l.late.any(), is_held_back(l), delay(l), l.id); };
  const auto here = rank(lane);
  return std::ranges::none_of(lanes_, [&](const auto& other) {
    return other.get() != &lane && serves(*other) && !other->blocked && other->ledger.has_room() && rank(*other) < here;
  });
}

void SessionProtocol::take(Lane& lane, OutgoingFrame& frame) {
  assert(lane.state == Lane::State::live && frame.payload.size() == frame.header.length);
  lane.ledger.take(frame.header);
  const std::uint64_t bytes = kFrameHeaderBytes + frame.header.length;
  control_frames_ += is_statement(frame.header.type);
  lane.taken_bytes += bytes;
  lane.view.outstanding_bytes += bytes;
  lane.estimator.handed(bytes);
  lane.probe.handed(bytes);
}

bool SessionProtocol::next_session_control(OutgoingFrame& frame) {
  frame = {};
  FrameHeader& header = frame.header;
  for (const auto& lane : lanes_) {
    if (!lane->fence_pending) continue;
    lane->fence_pending = false;
    header = FenceFrame{.lane = lane->id, .frames = lane->ledger.consumed(), .too_slow = lane->too_slow};
    return true;
  }
  if (next_retire(header) || next_window(header)) return true;
  if (rail_updates_.pending()) {
    frame.payload = rail_updates_.next(header);
    return true;
  }
  if (goodbye_pending_) {
    goodbye_pending_ = false;
    header.type = FrameType::goodbye;
    return true;
  }
  session_control_ = false;
  return false;
}

std::size_t SessionProtocol::take_control(Lane& lane, std::span<OutgoingFrame> frames) {
  std::size_t n = 0;
  const auto room = [&] { return n < frames.size() && lane.ledger.has_room(); };
  while (session_control_ && room()) {
    if (next_session_control(frames[n])) take(lane, frames[n++]);
  }
  while (!recv_control_.empty() && room()) {
    RecvStream& s = *recv_control_.front();
    if (s.next_control(frames[n].header, frames[n].payload)) {
      ++s.ledger_frames;
      take(lane, frames[n++]);
    }
    note(s);
  }
  while (!send_control_.empty() && room()) {
    SendStream& s = *send_control_.front();
    if (s.next_control(frames[n].header, frames[n].payload)) {
      ++s.ledger_frames;
      take(lane, frames[n++]);
    }
    note(s);
  }
  return n;
}

std::size_t SessionProtocol::take_lazy(Lane& lane, std::span<OutgoingFrame> frames) {
  std::size_t n = 0;
  while (!lazy_.empty() && n < frames.size() && lane.ledger.has_room()) {
    RecvStream& s = *lazy_.front();
    frames[n] = {s.next_lazy(), {}};
    ++s.ledger_frames;
    take(lane, frames[n++]);
    note(s);
  }
  return n;
}

OthersView SessionProtocol::others(const Lane& lane, const SendStream& stream) const {
  OthersView sum;
  sum.least_bytes = std::uint32_t(std::min<std::uint64_t>(kSegmentBytesMin, stream.sendable_bytes()));
  for (const auto& other : lanes_) {
    if (other.get() == &lane || !serves(*other) || !other->view.rate_known || !may_use(stream, *other)) continue;
    if (is_held_back(*other) || other->window.is_held(other->taken_bytes)) continue;
    sum.add(other->view);
  }
  return sum;
}

// A stream uses the rails of its two devices. If no lane that may have data joins two such rails, any lane serves.
bool SessionProtocol::may_use(const SendStream& stream, const Lane& lane) const {
  if (stream.may_use(lane.local_bit, lane.remote_bit)) return true;
  return std::ranges::none_of(lanes_, [&](const auto& other) {
    return serves(*other) && !is_held_back(*other) && stream.may_use(other->local_bit, other->remote_bit);
  });
}

// Padding goes at once, whether data waits or not: a lane that leads nowhere is found out before data depends on it.
bool SessionProtocol::owes_padding(const Lane& lane) const {
  return lane.taken_bytes < LaneProbe::kBytes && serves(lane) && is_held_back(lane) && lane.ledger.has_room() &&
         !goodbye_written_;
}

bool SessionProtocol::any_owes_padding() const {
  return must_prove_ && std::ranges::any_of(lanes_, [this](const auto& lane) { return owes_padding(*lane); });
}

// No message waits for padding: a lane that is slow or leads nowhere costs its own time only (docs/decisions/0023). The
// last padding frame asks for an answer, so that the lane is proven even if its kernel is not asked.
std::size_t SessionProtocol::take_padding(Lane& lane, std::span<OutgoingFrame> frames, std::uint64_t bytes) {
  std::size_t n = 0;
  for (std::uint64_t taken = 0; taken < bytes && n < frames.size() && lane.ledger.has_room(); ++n) {
    taken += kFrameHeaderBytes + kControlPayloadBytesMax;
    frames[n] = {KeepFrame{.length = kControlPayloadBytesMax, .answer_me = taken >= bytes}, kPadding};
    take(lane, frames[n]);
  }
  return n;
}

std::size_t SessionProtocol::take_data(Lane& lane, std::span<OutgoingFrame> frames) {
  std::size_t n = 0;
  if (turns_.empty()) return 0;
  if (lane.probe.left_bytes() > 0) return take_padding(lane, frames, lane.probe.left_bytes());
  if (!worth_refilling(lane.view)) {
    if (is_bound_by_window(lane.view)) lane.window.refuse();
    return 0;
  }
  while (!turns_.empty() && n < frames.size() && lane.ledger.has_room()) {
    if (lane.view.outstanding_bytes >= outstanding_bytes_max(lane.view)) break;
    SendStream* s = turns_.pick([&](const SendStream& stream) { return may_use(stream, lane); });
    if (s == nullptr) break;
    const OthersView instead = others(lane, *s);
    const std::uint32_t bytes = segment_bytes(lane.view, instead, waiting_bytes_);
    const std::uint64_t room = lane.window.room(lane.view.outstanding_bytes, lane.taken_bytes);
    if (room < CreditWindow::kLeastBytes) {
      lane.window.refuse();
      break;
    }
    const auto likely = std::uint32_t(std::min<std::uint64_t>(bytes, s->sendable_bytes()));
    if (!finishes_in_time(lane.view, instead, likely, waiting_bytes_)) {
      const bool probe = waiting_bytes_ >= LaneProbe::kBytes &&  // else the last report may be old
                         lane.probe.begin(lane.reported_at, lane.view.outstanding_bytes, lane.view.rate);
      return probe ? n + take_padding(lane, frames.subspan(n), lane.probe.left_bytes()) : n;
    }
    static_assert(CreditWindow::kLeastBytes == kFrameHeaderBytes + kLineBytes);
    const std::uint64_t allowed = (room - kFrameHeaderBytes) / kLineBytes * kLineBytes;
    SendStream::Segment segment = s->cut(std::uint32_t(std::min<std::uint64_t>(bytes, allowed)));
    segment.header.waiting = kib_of(waiting_bytes_ - std::min<std::uint64_t>(waiting_bytes_, segment.header.length));
    frames[n] = {segment.header, segment.payload};
    if (const auto first = lane.window.took())
      events_.push_back({Event::Kind::overridden, 0, lane.id, 0, {}, false, *first});
    ++s->ledger_frames;
    take(lane, frames[n++]);
    lane.data_end = lane.taken_bytes;
    turns_.took(*s, segment.header.length);
    note(*s);
  }
  return n;
}

}  // namespace railweave::protocol

// Lanes of a session: adding them, their reports, their loss, and retransmission behind a fence (decision D6).
#include <algorithm>
#include <cassert>
#include <utility>

#include "protocol/session_protocol.h"

namespace railweave::protocol {
namespace {

// time between reports of a lane with a credit window: how much of the window is free
constexpr Nanos kWindowPoll = std::chrono::microseconds(50);
constexpr std::uint64_t kUnreportedBytesMax = 32 * 1024;  // bytes; a report costs up to two system calls

}  // namespace

SessionProtocol::Lane* SessionProtocol::find(LaneId id) { return const_cast<Lane*>(std::as_const(*this).find(id)); }

const SessionProtocol::Lane* SessionProtocol::find(LaneId id) const {
  for (const auto& lane : lanes_)
    if (lane->id == id) return lane.get();
  return nullptr;
}

SessionProtocol::Lane& SessionProtocol::known(LaneId id) {
  Lane* const lane = find(id);
  assert(lane != nullptr);
  return *lane;
}

void SessionProtocol::add_lane(LaneId id, int local_rail, int remote_rail, bool doubtful, const Credit& first) {
  static_assert(kRailsMax <= 64, "a mask has a bit for each rail");
  assert(local_rail >= 0 && local_rail < kRailsMax && remote_rail >= 0 && remote_rail < kRailsMax);
  forget_lanes();
  if (Lane* known = find(id)) {
    assert(known->fenced_early);
    known->fenced_early = false;
    events_.push_back({Event::Kind::lane_failed_by_peer, 0, id, 0, {}});
    return;
  }
  auto lane = std::make_unique<Lane>();
  lane->id = id;
  if (was_forgotten(id)) {
    lane->state = Lane::State::fenced;
    lane->fence_taken = true;
    events_.push_back({Event::Kind::lane_failed_by_peer, 0, id, 0, {}});
  }
  lane->local_bit = std::uint64_t{1} << local_rail;
  lane->remote_bit = std::uint64_t{1} << remote_rail;
  lane->proven = !lost_lane_ && !doubtful;
  must_prove_ |= !lane->proven;
  lane->window = CreditWindow(first);
  lane->view.window_bytes = first.window_bytes;
  lanes_.push_back(std::move(lane));
}

// Forgets lanes that no new statement will name. A FENCE may still be repeated, when its sender does not know that the
// first one arrived.
void SessionProtocol::forget_lanes() {
  std::erase_if(lanes_, [this](const auto& lane) {
    if (lane->state != Lane::State::fenced || lane->fence_pending || !lane->fence_taken ||
        !(lane->closed || lane->fenced_early))
      return false;
    if (forgotten_.size() <= lane->id) forgotten_.resize(std::size_t(lane->id) + 1);
    forgotten_[lane->id] = true;
    return true;
  });
}

bool SessionProtocol::has_room_for_lane() const {
  return std::ranges::count(lanes_, false, &Lane::fenced_early) < std::ptrdiff_t(kLanesKnownMax);
}

bool SessionProtocol::goodbye_written() const {
  return goodbye_written_ &&
         std::ranges::none_of(lanes_, [](const auto& lane) { return lane->state == Lane::State::lost; });
}

int SessionProtocol::live_lanes() const {
  return int(std::ranges::count_if(lanes_, [](const auto& lane) { return lane->state == Lane::State::live; }));
}

void SessionProtocol::report(LaneId id, TimePoint now, const LaneReport& report) {
  Lane* lane = find(id);
  if (lane == nullptr || lane->state != Lane::State::live) return;
  if (lane->estimator.observe(now, report.acknowledged_bytes, report.outstanding_bytes)) lane->probe.used();
  if (const auto seen = lane->probe.observe(now, report.acknowledged_bytes, report.outstanding_bytes))
    lane->estimator.bound(seen->least, seen->most);
  prove(*lane, report.acknowledged_bytes);
  lane->window.observe(now, lane->taken_bytes, !turns_.empty());
  lane->view = {lane->estimator.known(),  lane->estimator.rate(),   report.min_rtt,
                report.outstanding_bytes, urgent_send_streams_ > 0, lane->window.standing().window_bytes};
  const bool full = !worth_refilling(lane->view);
  if (const auto seen =
          lane->queueing_bound.observe(now, report.acknowledged_bytes, report.outstanding_bytes, full, report.min_rtt))
    lane->estimator.no_faster(seen->most, seen->over);
  lane->estimator.age(now, !lane->probe.passed_over());  // idle because others are chosen: a probe will tell
  lane->reported_at = now;
  lane->view.rate = lane->estimator.rate();
}

// A path that loses large packets, or everything but handshakes, shows so by its padding.
void SessionProtocol::prove(Lane& lane, std::uint64_t acknowledged_bytes) {
  lane.proven = lane.proven || acknowledged_bytes >= LaneProbe::kBytes;
}

void SessionProtocol::set_blocked(LaneId id, bool blocked) {
  if (Lane* lane = find(id)) lane->blocked = blocked;
}

void SessionProtocol::send_any_frame(LaneId id) {
  Lane* lane = find(id);
  if (lane == nullptr || lane->state != Lane::State::live || !lane->ledger.has_room_for_report()) return;
  if (!std::exchange(lane->owes_any_frame, true)) ++owing_lanes_;
}

void SessionProtocol::send_heartbeat_probe(LaneId id) {
  send_any_frame(id);
  if (Lane* lane = find(id); lane != nullptr && lane->owes_any_frame) lane->owes_heartbeat_probe = true;
}

bool SessionProtocol::wants_report(LaneId id, TimePoint now) const {
  const Lane* lane = find(id);
  if (lane == nullptr) return false;
  if (lane->probe.running() || (!lane->proven && !turns_.empty())) return true;
  if (!turns_.empty() && lane->window.bounds() && now >= lane->reported_at + kWindowPoll) return true;
  if (!turns_.empty() && !worth_refilling(lane->view)) return now >= lane->reported_at + pause_before_poll(lane->view);
  return waiting_bytes_ + lane->view.outstanding_bytes > kUnreportedBytesMax;
}

bool SessionProtocol::holds_data(LaneId id, std::uint64_t acknowledged_bytes) const {
  const Lane* lane = find(id);
  return lane != nullptr && lane->data_end > acknowledged_bytes;
}

Rate SessionProtocol::rate_of(LaneId id) const {
  const Lane* lane = find(id);
  return lane ? lane->estimator.rate() : Rate{};
}

void SessionProtocol::on_written(LaneId id, std::size_t frames) {
  Lane& lane = known(id);
  for (; frames > 0; --frames) {
    const FrameHeader& h = lane.ledger.write_next();
    if (h.type == FrameType::goodbye) goodbye_written_ = true;
    if (names_receiver(h)) {
      RecvStream* s = find_recv(h.stream);
      if (s == nullptr || (h.type != FrameType::ack && h.type != FrameType::grant)) continue;
      s->on_ack_written(h, completions_);
      note(*s);
    } else if (h.type == FrameType::segment) {
      SendStream* s = find_send(h.stream);
      assert(s != nullptr && s->ledger_frames > 0);
      s->on_written(h, completions_);
      note(*s);
    }
  }
}

void SessionProtocol::on_released(LaneId id, std::size_t frames) {
  Lane& lane = known(id);
  for (; frames > 0; --frames) {
    assert(lane.ledger.owes_release());
    release(lane.ledger.release_next());
  }
  forget_finished(lane);
}

void SessionProtocol::release(const FrameHeader& frame) {
  if (frame.type != FrameType::segment) return;
  SendStream* s = find_send(frame.stream);
  assert(s != nullptr && s->ledger_frames > 0);
  s->on_released(frame, completions_);
  note(*s);
}

bool SessionProtocol::names_receiver(const FrameHeader& frame) const { return (frame.flags & kFlagFromReceiver) != 0; }

// A ledger no longer names a stream. A stream that is over may be forgotten then; for others nothing changes.
void SessionProtocol::unname(const FrameHeader& frame) {
  if (frame.type == FrameType::fence || frame.type == FrameType::goodbye || frame.type == FrameType::keep) return;
  if (frame.type == FrameType::retire || frame.type == FrameType::window) return;
  if (frame.type == FrameType::rails) return rail_updates_.let_go(frame);
  if (names_receiver(frame)) {
    RecvStream* s = find_recv(frame.stream);
    assert(s != nullptr && s->ledger_frames > 0);
    if (--s->ledger_frames == 0 && s->gone()) note(*s);
  } else {
    SendStream* s = find_send(frame.stream);
    assert(s != nullptr && s->ledger_frames > 0);
    if (--s->ledger_frames == 0 && s->gone()) note(*s);
  }
}

void SessionProtocol::forget_finished(Lane& lane) {
  while (const FrameHeader* next = lane.ledger.forget_next()) {
    const FrameHeader frame = *next;
    exchanged_segments_ += frame.type == FrameType::segment;
    if (frame.type == FrameType::fence)
      if (Lane* of = find(FenceFrame::of(frame).lane)) of->fence_taken = true;
    unname(frame);
  }
  note_retired(lane);
}

void SessionProtocol::lose_lane(LaneId id, bool too_slow) {
  Lane* lane = find(id);
  if (lane == nullptr) return;
  lane->closed = true;
  if (lane->state != Lane::State::live) return;
  lane->state = Lane::State::lost;
  lost_lane_ = true;
  lane->too_slow = too_slow;
  lane->retire_pending = lane->retire_answered = lane->window_pending = false;
  if (std::exchange(lane->owes_any_frame, false)) --owing_lanes_;
  lane->fence_pending = session_control_ = true;
  while (!lane->ledger.all_released()) release(FrameHeader(lane->ledger.release_next()));
  // A FENCE that may be lost with this lane is repeated at once, without waiting for this lane's fence. Otherwise two
  // ends would wait for ever if each lost the lane with the other's FENCE. A repeated FENCE is harmless.
  lane->ledger.for_each([this](const FrameHeader& h) {
    if (h.type != FrameType::fence) return;
    if (Lane* of = find(FenceFrame::of(h).lane); of != nullptr && !of->fence_taken) of->fence_pending = true;
  });
  assert(owing_lanes_ >= 0);
  if (RecvStream* s = std::exchange(lane->landing, nullptr)) {
    assert(s->landing > 0);
    --s->landing;
    s->on_segment_lost(lane->incoming);
    note(*s);
  }
  if (lane->peer_fenced) requeue_lost(*lane);
}

Status SessionProtocol::on_fence(const FrameHeader& header) {
  const auto fence = FenceFrame::of(header);
  Lane* lane = find(fence.lane);
  if (lane == nullptr && was_forgotten(fence.lane)) return {};
  if (lane == nullptr) return on_fence_of_unknown(fence);
  if (lane->peer_fenced) return {};
  lane->peer_fenced = true;
  lane->peer_fence_count = fence.frames;
  if (lane->state == Lane::State::live) {
    events_.push_back({Event::Kind::lane_failed_by_peer, 0, lane->id, 0, {}, fence.too_slow});
    return {};
  }
  requeue_lost(*lane);
  return error_;
}

// The peer's end of the lane stood and was lost before ours stood: this end wrote nothing there. The answering FENCE
// lets the peer retransmit its frames.
Status SessionProtocol::on_fence_of_unknown(const FenceFrame& fence) {
  forget_lanes();
  if (fence.frames != 0 || std::ranges::count_if(lanes_, [](const auto& lane) { return lane->fenced_early; }) >=
                               std::ptrdiff_t(kLanesKnownMax))
    return Status(Code::remote, Scope::lane,
                  "malformed frame: FENCE after " + std::to_string(fence.frames) + " frames for lane " +
                      std::to_string(fence.lane) + ", which never was");
  auto lane = std::make_unique<Lane>();
  lane->id = fence.lane;
  lane->state = Lane::State::fenced;
  lane->fenced_early = lane->peer_fenced = lane->fence_pending = session_control_ = true;
  lanes_.push_back(std::move(lane));
  return {};
}

void SessionProtocol::requeue_lost(Lane& lane) {
  assert(lane.state != Lane::State::live && lane.peer_fenced && "what is lost goes again behind the fence only");
  lane.state = Lane::State::fenced;
  if (Status s = lane.ledger.on_fence(lane.peer_fence_count); !s.ok()) return fail(s);
  forget_finished(lane);
  while (const auto lost = lane.ledger.lost_next()) {
    repeat(*lost);
    unname(lost->frame);
  }
}

void SessionProtocol::repeat(const LaneLedger::Lost& which) {
  const FrameHeader& lost = which.frame;
  switch (lost.type) {
    case FrameType::keep: return;
    case FrameType::fence: return;  // repeated when the lane was lost
    case FrameType::goodbye:
      goodbye_pending_ = session_control_ = true;
      goodbye_written_ = false;
      return;
    case FrameType::retire: return repeat_retire(lost);
    case FrameType::window: return repeat_window(lost);
    default: break;
  }
  if (lost.type == FrameType::rails) {
    rail_updates_.repeat(lost);
    session_control_ = true;
  } else if (names_receiver(lost)) {
    RecvStream* s = find_recv(lost.stream);
    s->repeat_control(lost);
    note(*s);
  } else {
    SendStream* s = find_send(lost.stream);
    if (lost.type == FrameType::segment)
      s->requeue(lost, which.written);
    else
      s->repeat_control(lost.type);
    note(*s);
  }
}

}  // namespace railweave::protocol

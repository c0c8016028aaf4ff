#include "tests/sim/watched_lane.h"

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include "wire/bootstrap/socket.h"
#include "wire/overlap.h"

namespace railweave::sim {
namespace {

using protocol::FrameHeader;
using protocol::FrameType;
using Passing = LaneWatch::Passing;

std::uint64_t digest(std::span<const std::byte> bytes) {
  return std::hash<std::string_view>{}({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace

LaneWatch::LaneWatch(MemoryWatch& whose, std::string of, const HostTime& by, Nanos timeout, std::uint64_t seed, Fail to)
    : memory(whose),
      name(std::move(of)),
      time(by),
      peer_timeout(timeout),
      random(seed),
      one_at_a_time(random() % 2 == 0),
      zero_copy(seed % 4 == 0),
      fail(std::move(to)),
      turns([this](const std::string& what) { fail(name + ": " + what); }) {}

std::size_t LaneWatch::budget() {
  switch (random() % 8) {
    case 0: return 1 + random() % 100;
    case 1: return 1 + random() % 20'000;
    default: return 512 * KiB;
  }
}

WatchedLane::WatchedLane(LaneWatch& watch, protocol::LaneId id, std::unique_ptr<wire::SimLane> lane)
    : watch_(watch), id_(id), lane_(std::move(lane)) {
  watch_.lanes[id_] = this;
}

WatchedLane::~WatchedLane() {
  check_lent();
  watch_.lanes.erase(id_);
  if (!lane_->end()) watch_.let_go_early.insert(id_);
}

void WatchedLane::wrong(const std::string& what) { watch_.fail(watch_.name + ": " + what); }

// Both ends run our code, so no end may refuse what the other sends. Exception: what arrives by a lane that was given
// up.
void WatchedLane::refused(const Status& why) {
  if (why.code() != Code::cancelled) wrong("lane " + std::to_string(id_) + ": " + why.message());
}

std::string WatchedLane::describe(const char* what, const FrameHeader& h) const {
  return watch_.name + ": lane " + std::to_string(id_) + " " + what + " " + std::to_string(h.sequence) + " " +
         protocol::name_of(h.type) + ((h.flags & protocol::kFlagEager) ? " eager" : "") + " stream " +
         std::to_string(h.stream) + ((h.flags & protocol::kFlagFromReceiver) ? " (from receiver)" : "") + " message " +
         std::to_string(h.message) + " a " + std::to_string(h.a) + " b " + std::to_string(h.b) + " length " +
         std::to_string(h.length) + " aux " + std::to_string(h.aux) + " consumed " + std::to_string(h.consumed);
}

// ---------------------------------------------------------------------------------------------------------------- Lane

Result<wire::Moved> WatchedLane::read(wire::LaneHandler& handler, std::size_t budget_bytes) {
  let_go(handler);
  if (!broken_.ok()) return broken_;
  handler_ = &handler;
  Result<wire::Moved> moved = lane_->read(*this, std::min(budget_bytes, watch_.budget()));
  if (moved.ok() && incoming_.type == FrameType::segment) watch_.bytes_moved += moved->bytes;
  return moved;
}

Result<wire::Moved> WatchedLane::write(wire::LaneHandler& handler) {
  if (!broken_.ok()) return wire::Moved{0, true};  // read() returns the reason
  handler_ = &handler;
  return lane_->write(*this);
}

void WatchedLane::reset() {
  broken_ = Status(Code::remote, Scope::lane, "reset between the hosts", ECONNRESET);
  broken_by_ = wire::LaneEnd::reset;
}

bool WatchedLane::withdraw_payload(std::span<const std::byte> range) {
  for (Lent& l : lent_)
    if (wire::overlap(l.payload, range)) l = {l.header, {}, digest({}), l.acknowledged_at};  // the lane copies it
  return lane_->withdraw_payload(range);
}

void WatchedLane::withdraw_target(std::span<const std::byte> range) {
  lane_->withdraw_target(range);
  if (!place_.empty() && wire::overlap(place_, range)) place_ = {};
}

wire::AckStatus WatchedLane::ack_status() {
  const HostClock& clock = watch_.time.clock();
  wire::AckStatus h = lane_->ack_status();
  h.heard_at = clock.local(h.heard_at);
  if (h.late_since) h.late_since = clock.local(*h.late_since);
  if (h.silent_since) h.silent_since = clock.local(*h.silent_since);
  if (broken_.ok() && !h.owes &&
      watch_.time.now() - h.heard_at > watch_.peer_timeout + wire::keepalive_interval(watch_.peer_timeout)) {
    broken_ = Status(Code::remote, Scope::lane, "no keepalive was answered", ETIMEDOUT);
    broken_by_ = wire::LaneEnd::unanswered;
  }
  return h;
}

// ----------------------------------------------------------------------------------------------------------- zero-copy

bool WatchedLane::lets_go() const {
  return written_of_lent_ > 0 && lent_.front().acknowledged_at <= lane_->health().acknowledged_bytes;
}

void WatchedLane::let_go(wire::LaneHandler& handler) {
  for (; lets_go(); --written_of_lent_, lent_.pop_front()) {
    check(lent_.front());
    handler.released(1);
  }
}

void WatchedLane::check_lent() {
  for (const Lent& l : lent_) check(l);
}

// Failed streams are left out: SendStream::fail() ends the sends that the receiver has, so their memory may be gone.
void WatchedLane::check(const Lent& l) {
  if (l.header.type != FrameType::segment || watch_.ignores_memory) return;
  const auto streams = watch_.sending_streams();
  const auto its = std::ranges::find(streams, l.header.stream, [](const protocol::SendStream* s) { return s->id(); });
  if (its != streams.end() && !(*its)->failed() && digest(l.payload) != l.was)
    watch_.fail(describe("sends from memory that was given back or written:", l.header));
}

// -------------------------------------------------------------------------------------------------------- what is sent

std::size_t WatchedLane::next_frames(std::span<wire::OutFrame> frames) {
  const bool judged = watch_.one_at_a_time && watch_.session().has_data();
  if (judged) watch_.turns.before(watch_.sending_streams());
  const std::size_t n = handler_->next_frames(
      frames.first(watch_.one_at_a_time ? std::min<std::size_t>(1, frames.size()) : frames.size()));
  note_taken(frames.first(n));
  if (judged && n > 0) watch_.turns.after(taken_.back());
  return n;
}

void WatchedLane::note_taken(std::span<const wire::OutFrame> frames) {
  for (const wire::OutFrame& frame : frames) {
    const FrameHeader h = protocol::decode(frame.header).value();
    taken_.push_back(h);
    if (watch_.zero_copy) lent_.push_back({h, frame.payload, digest(frame.payload)});
    watch_.segments_taken += h.type == FrameType::segment;
    if (h.type == FrameType::fence) check_fence(h);
    watch_.on_frame(Passing::taken, h);
    if (watch_.on_trace) watch_.on_trace(describe("takes", h));
  }
  frames_taken_ += frames.size();
  if (frames_taken_ - peer_consumed_ > protocol::kLedgerFrames)
    wrong("lane " + std::to_string(id_) + ": more frames unanswered than the ledger holds");
}

// A FENCE promises that nothing of that lane lands here any more, so the peer may send it again (decision D6).
void WatchedLane::check_fence(const FrameHeader& fence) {
  const auto lane = protocol::LaneId(fence.aux);
  const bool there = watch_.lanes.contains(lane) && fence.a > 0;  // a = 0: the lane came too late
  if (there || watch_.let_go_early.contains(lane))
    wrong("FENCE for lane " + std::to_string(lane) + ", which its wire has not let go of");
}

void WatchedLane::written(std::size_t n) {
  for (std::size_t i = 0; i < n; ++i, taken_.pop_front()) watch_.on_frame(Passing::written, taken_.front());
  handler_->written(n);
}

void WatchedLane::released(std::size_t n) {
  if (!watch_.zero_copy) return handler_->released(n);
  const wire::LaneHealth h = lane_->health();
  for (; n > 0; --n) lent_[written_of_lent_++].acknowledged_at = h.acknowledged_bytes + h.outstanding_bytes;
}

// -------------------------------------------------------------------------------------------------------- what arrives

// The session consumes a frame without payload as soon as its header arrives.
Result<wire::Target> WatchedLane::header(std::span<const std::byte, wire::kHeaderBytes> bytes) {
  Result<FrameHeader> decoded = protocol::decode(bytes);
  if (decoded.ok()) incoming_ = *decoded;
  const bool segment = incoming_.type == FrameType::segment;
  if (decoded.ok() && incoming_.length == 0) {
    if (segment) watch_.on_frame(Passing::met, incoming_);
    watch_.on_frame(Passing::consumed, incoming_);
  }
  Result<wire::Target> target = handler_->header(bytes);
  if (!target.ok()) {
    refused(target.status());
    return target;
  }
  place_ = target->where;
  peer_consumed_ += std::uint32_t(incoming_.consumed - std::uint32_t(peer_consumed_));
  if (segment && incoming_.length > 0 && watch_.session().lands(id_, incoming_.stream))
    watch_.on_frame(Passing::met, incoming_);
  if (watch_.random() % 8 == 0) watch_.on_gap();
  if (const std::string what = watch_.memory.landing(place_); !what.empty()) wrong(what);
  return target;
}

Status WatchedLane::consumed(std::span<const std::byte, wire::kHeaderBytes> bytes) {
  if (watch_.on_trace) watch_.on_trace(describe("consumes", incoming_));
  if (incoming_.type == FrameType::segment) note_landed();
  const bool landed = incoming_.type != FrameType::segment || watch_.session().lands(id_, incoming_.stream);
  if (landed && incoming_.length > 0) watch_.on_frame(Passing::consumed, incoming_);
  if (incoming_.type != FrameType::keep) watch_.bytes_moved += wire::kHeaderBytes;
  Status status = handler_->consumed(bytes);
  if (!status.ok()) refused(status);
  return status;
}

void WatchedLane::note_landed() {
  if (const std::string what = watch_.memory.landed(place_); !what.empty()) wrong(what);
  watch_.bytes_consumed += incoming_.length + wire::kHeaderBytes;
}

// ------------------------------------------------------------------------------------------------------ PendingSimLane

Result<std::unique_ptr<wire::Lane>> PendingSimLane::poll() {
  if (net_.now() < made_at_) return std::unique_ptr<wire::Lane>();
  if (lane_->link().is_cut()) return Status(Code::remote, Scope::lane, "link down before there was a lane", ECONNRESET);
  wire::SimLane& wire = *lane_;
  auto lane = std::make_unique<WatchedLane>(watch_, id_, std::move(lane_));
  made_(*lane, wire);
  return std::unique_ptr<wire::Lane>(std::move(lane));
}

}  // namespace railweave::sim

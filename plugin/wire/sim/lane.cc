#include "wire/sim/lane.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "wire/sim/connection.h"
#include "wire/sim/link.h"

namespace railweave::wire {
namespace {

using namespace std::chrono_literals;

constexpr Nanos kResendLeast = 200ms;  // Linux's minimal retransmission timeout
constexpr Nanos kIdleProbe = 1s;
constexpr Nanos kLateLeast = 100ms, kSilentLeast = 300ms;  // as in LaneAcks; here no packet is lost by chance

}  // namespace

SimLane::SimLane(std::shared_ptr<SimConnection> connection, int end)
    : connection_(std::move(connection)),
      end_(end),
      metrics_(std::make_shared<LaneMetrics>("sim", connection_->link(end).spec().name, connection_->name(end),
                                             connection_->name(1 - end))) {
  connection_->end(end).sending.counters = &metrics_->sent;
  connection_->end(end).receiving.counters = &metrics_->received;
  connection_->opened(end_, *this);
}

SimLane::~SimLane() { connection_->closed(end_); }

SimLink& SimLane::link() const { return connection_->link(end_); }

Result<Moved> SimLane::read(LaneHandler& handler, std::size_t budget_bytes) {
  metrics_->received.calls.add();
  SimEnd& end = connection_->end(end_);
  auto moved = end.receiving.read(handler, budget_bytes);
  if (!moved.ok() || !moved->blocked || (end.lost.ok() && !end.receiving.ended())) return moved;
  if (moved->bytes > 0) return Moved{moved->bytes, false};  // the next call returns the error
  if (!end.lost.ok()) return end.lost;
  return Status(
      Code::remote, Scope::lane,
      fmt::format("rail {}: {} to {}: closed by the peer{}", link().spec().name, connection_->name(end_),
                  connection_->name(1 - end_), end.receiving.inside_frame() ? " in the middle of a frame" : ""));
}

Result<Moved> SimLane::write(LaneHandler& handler) {
  metrics_->sent.calls.add();
  SimEnd& end = connection_->end(end_);
  if (!end.lost.ok()) return Moved{0, true};  // read() returns the cause
  return end.sending.write(handler);
}

LaneEnd SimLane::why_ended() const { return connection_->end(end_).lost.ok() ? LaneEnd::closed : LaneEnd::reset; }

bool SimLane::end() {
  if (link().spec().ending_most == Nanos{0}) return true;
  if (ended_at_ == TimePoint{}) ended_at_ = connection_->draw_end(end_);
  return connection_->now() >= ended_at_;
}

bool SimLane::at_frame_boundary() const { return connection_->end(end_).sending.at_frame_boundary(); }

bool SimLane::withdraw_payload(std::span<const std::byte> range) {
  connection_->end(end_).sending.withdraw(range);
  return true;
}

void SimLane::withdraw_target(std::span<const std::byte> range) { connection_->end(end_).receiving.withdraw(range); }

LaneHealth SimLane::health() {
  const SimEnd& end = connection_->end(end_);
  LaneHealth h;
  const std::uint64_t taken = end.out.put_bytes() + end.sending.waiting_bytes();
  h.acknowledged_bytes = end.out.acknowledged_bytes();
  h.outstanding_bytes = taken - h.acknowledged_bytes;
  h.min_rtt = end.out.min_rtt();
  h.smoothed_rtt = end.out.smoothed_rtt();
  metrics_->outstanding_bytes.set(h.outstanding_bytes);
  metrics_->min_rtt_ns.set(std::uint64_t(h.min_rtt.count()));
  metrics_->rate_bytes_per_s.set(std::uint64_t(link().spec().rate.bytes_per_s));
  return h;
}

AckStatus SimLane::ack_status() {
  const SimEnd& end = connection_->end(end_);
  const TimePoint now = connection_->now();
  // While bytes are unacknowledged, TCP retransmits them and sends no probe.
  const bool shut_out = end.out.is_shut_out() && !end.out.is_owed(),
             idle = !end.out.is_owed() && now - end.heard_at >= kIdleProbe;
  if ((shut_out || idle) && end.lost.ok() && now - probed_at_ >= (shut_out ? kResendLeast : kIdleProbe)) {
    probed_at_ = now;
    connection_->probe(end_);
  }
  AckStatus h;
  h.heard_at = end.heard_at;
  h.owes = end.out.is_owed() || shut_out;
  if (h.owes && !std::exchange(owed_, h.owes)) owes_since_ = now;
  owed_ = h.owes;
  if (!h.owes) return h;
  const TimePoint since = std::max(end.heard_at, end.out.is_owed() ? end.out.owed_since() : owes_since_);
  h.usual = std::max<Nanos>(kLateLeast, 2 * end.out.smoothed_rtt());
  if (now - since >= h.usual) h.late_since = since;
  if (now - since >= std::max<Nanos>(kSilentLeast, (kResendLeast + end.out.smoothed_rtt()) * 3 / 2))
    h.silent_since = since;
  return h;
}

bool SimLane::has_news() const {
  const SimEnd& end = connection_->end(end_);
  return !end.lost.ok() || end.receiving.ended() || end.receiving.unread() || !end.sending.at_frame_boundary();
}

void SimLane::send_word(std::function<void()> what) { connection_->send_word(end_, std::move(what)); }

Status SimLane::finish_writing() {
  connection_->end(end_).sending.finish();
  return Status();
}

}  // namespace railweave::wire

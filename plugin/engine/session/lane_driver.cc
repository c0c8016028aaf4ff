#include "engine/session/lane_driver.h"

#include <fmt/format.h>
#include <sched.h>

#include <cassert>
#include <new>
#include <utility>

#include "base/crc32c.h"
#include "engine/runtime/fork_guard.h"
#include "protocol/frame_fields.h"

namespace railweave::engine {

static_assert(wire::kHeaderBytes == protocol::kFrameHeaderBytes);

void LaneDriver::start(protocol::LaneId id, const RailPair& rails, std::unique_ptr<wire::Lane> lane,
                       std::unique_ptr<LaneCredit> credit) {
  assert(is_free() && !lane_ && lane);
  id_.store(id, std::memory_order_relaxed);
  rails_ = rails;
  lane_ = std::move(lane);
  credit_ = std::move(credit);
  trace_ = LaneTrace(protocol_.clock(), options_.serial, id);
  drains_ = consumed_ = flush_ = false;
  fault_ = Fault::none;
  checks_ = options_.sends_checked && !lane_->vouches_for_bytes();
  check_.forget();
  drain_polled_at_ = {};
  metrics_ = lane_->metrics();
  ending_ = {};
  consumed_status_ = {};
  idle_passes_ = 0;
  blocked_.store(false, std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_relaxed);
  descriptor_.store(lane_->descriptor(), std::memory_order_relaxed);
  state_.store(State::open, std::memory_order_relaxed);
  guard_descriptor(lane_->descriptor());
  guard_descriptor(lane_->bootstrap_descriptor());
}

void LaneDriver::claim() RW_NO_THREAD_SAFETY_ANALYSIS {
  while (!try_claim()) sched_yield();
}

LaneDriver::Pass LaneDriver::pass(std::size_t budget_bytes, bool flush) {
  Pass result;
  if (!is_open()) return result;
  if (trace_.wants_rail()) trace_.set_rail(rail());
  // Fresh posts are written before the lane is read: the read is most of what a short message would wait for.
  flush_ = false;
  const bool posts = protocol_.has_posts();
  if (posts && !write(result)) return result;
  const bool wrote = result.moved;
  Result<wire::Moved> in = lane_->read(*this, budget_bytes);
  if (!in.ok()) {
    result.status = in.status();
    result.end = lane_->why_ended();
    // an encrypted record whose authentication tag is wrong
    if (fault_ == Fault::none && result.end == wire::LaneEnd::corrupted) fault_ = Fault::damaged;
    result.fault = fault_;
    return result;
  }
  result.moved = wrote || in->bytes > 0;
  idle_passes_ = result.moved ? 0 : idle_passes_ + 1;
  flush_ = in->bytes == 0 && (flush || idle_passes_ > kIdlePassesMax);
  if (credit_) poll_credit(in->bytes > 0);
  if (in->bytes > 0 || (!posts && (blocked() || protocol_.may_write()))) write(result);
  if (drains_) poll_draining();
  return result;
}

// Reports the lane while its last payload drains. Without this, once the lane has taken all data, no report would
// follow, and a lane that seemed fast enough to take all data would seem so for ever.
void LaneDriver::poll_draining() {
  const TimePoint t = protocol_.now();
  if (t - drain_polled_at_ < kDrainPoll || !lane_) return;
  drain_polled_at_ = t;
  const protocol::SessionProtocol::LaneReport r = report();
  drains_ = r.outstanding_bytes > 0;
  protocol_.lock()->report(id(), t, r);
}

void LaneDriver::poll_credit(bool arrived) {
  const TimePoint due = credit_due();
  if (!arrived && (due == TimePoint::max() || protocol_.now() < due)) return;
  credit_->poll(protocol_, id(), *lane_);
  credit_due_.store(credit_->due(), std::memory_order_relaxed);
}

protocol::SessionProtocol::LaneReport LaneDriver::report() {
  const wire::LaneHealth h = lane_->health();
  return {h.outstanding_bytes, h.acknowledged_bytes, h.min_rtt, h.smoothed_rtt};
}

bool LaneDriver::write(Pass& result) {
  Result<wire::Moved> out = lane_->write(*this);
  if (!out.ok()) {
    result.status = out.status();
    result.end = lane_->why_ended();
    return false;
  }
  result.moved = result.moved || out->bytes > 0;
  // Frames may be left although the kernel would take more, because write() bounds itself. They count as blocked, too.
  result.blocked = !lane_->at_frame_boundary();
  if (result.blocked != blocked()) {
    blocked_.store(result.blocked, std::memory_order_relaxed);
    protocol_.lock()->set_blocked(id(), result.blocked);
  }
  return true;
}

bool LaneDriver::begin_end(LaneEnding ending) {
  assert(is_open());
  close_metrics();
  ending_ = std::move(ending);
  forget_credit();
  state_.store(State::ending, std::memory_order_relaxed);
  return lane_->end();
}

// Updates the metrics for the last time; health() refreshes the wire's part.
void LaneDriver::close_metrics() noexcept {
  (void)lane_->health();
  metrics_->damaged_frames.set(is_damaged());
  metrics_->closed.set(1);
}

void LaneDriver::forget_credit() noexcept {
  credit_.reset();
  credit_due_.store(TimePoint::max(), std::memory_order_relaxed);
}

void LaneDriver::close() noexcept {
  if (is_free()) return;
  if (is_open()) close_metrics();
  state_.store(State::free, std::memory_order_relaxed);
  release_descriptor(descriptor_.exchange(-1));
  if (lane_) release_descriptor(lane_->bootstrap_descriptor());
  forget_credit();
  lane_.reset();
}

void LaneDriver::withdraw_target(protocol::StreamId stream, std::span<const std::byte> range) {
  if (!lane_ || !protocol_.lock()->lands(id(), stream)) return;
  lane_->withdraw_target(range);
  check_.withdraw(range);
}

void LaneDriver::finish_writing() {
  if (is_open()) (void)lane_->finish_writing();
}

// --------------------------------------------------------------------------------------------------- wire::LaneHandler

// Computes CRCs of payload under the claim alone, as the lane reads payload: withdraw_payload() waits for the claim.
std::size_t LaneDriver::next_frames(std::span<wire::OutFrame> frames) {
  assert_claimed();
  const std::size_t n = take_frames(std::min(frames.size(), next_.size()));
  for (std::size_t i = 0; i < n; ++i) {
    protocol::FrameHeader& header = next_[i].header;
    const std::span<const std::byte> payload = next_[i].payload;
    if (checks_ && !payload.empty()) {
      header.flags |= protocol::kFlagChecked;
      header.payload_crc = crc32c(payload);
    }
    protocol::encode(header, frames[i].header);
    frames[i].payload = payload;
    drains_ |= payload.size() >= kDrainBytes;
  }
  trace_.took(std::span(next_).first(n));
  return n;
}

inline std::size_t LaneDriver::take_frames(std::size_t most) {
  const SharedProtocol::Locked locked = protocol_.lock();
  locked.take_posts();
  if (const TimePoint t = protocol_.now(); locked->wants_report(id(), t)) {
    locked->report(id(), t, report());
    LaneCredit::show_sending(*locked, id(), *metrics_);
  }
  return locked->next_frames(id(), std::span(next_).first(most), flush_);
}

void LaneDriver::written(std::size_t n) {
  assert_claimed();
  trace_.wrote(n);
  const SharedProtocol::Locked locked = protocol_.lock();
  locked->on_written(id(), n);
  locked.publish();
}

void LaneDriver::released(std::size_t n) {
  assert_claimed();
  const SharedProtocol::Locked locked = protocol_.lock();
  locked->on_released(id(), n);
  locked.publish();
}

// `read_while_landing`: set to whether a caller reads the memory while the payload lands.
inline Result<std::span<std::byte>> LaneDriver::place_for(std::span<const std::byte, wire::kHeaderBytes> header,
                                                          bool& read_while_landing) {
  const SharedProtocol::Locked locked = protocol_.lock();
  locked.take_posts();
  Result<std::span<std::byte>> where = locked->on_header(id(), header);
  if (where.ok() && where->empty()) {
    consumed_ = true;
    consumed_status_ = locked->on_consumed(id());
  }
  read_while_landing = locked->is_read_while_landing(id());
  locked.publish();
  return where;
}

Result<wire::Target> LaneDriver::header(std::span<const std::byte, wire::kHeaderBytes> header) {
  assert_claimed();
  trace_.begins(header);
  arrivals_.heard();
  bool read_while_landing = false;
  Result<std::span<std::byte>> where = place_for(header, read_while_landing);
  if (!where.ok()) {
    if (is_checked() && !protocol::arrived_whole(header)) fault_ = Fault::damaged;
    return judged(where.status());
  }
  const std::optional<std::uint32_t> crc = protocol::payload_crc_in(header);
  if (crc) arrivals_.peer_checks();
  return check_.expect(crc, {*where, read_while_landing});
}

Status LaneDriver::consumed(std::span<const std::byte, wire::kHeaderBytes> header) {
  assert_claimed();
  trace_.arrived();
  if (std::exchange(consumed_, false)) return judged(std::exchange(consumed_status_, Status()));
  switch (check_.arrived()) {
    case PayloadCheck::Verdict::none: break;
    case PayloadCheck::Verdict::intact: arrivals_.intact(); break;
    case PayloadCheck::Verdict::damaged: fault_ = Fault::damaged_payload; return judged(damage(header));
  }
  return judged(note_consumed());
}

Status LaneDriver::note_consumed() {
  const SharedProtocol::Locked locked = protocol_.lock();
  Status status = locked->on_consumed(id());
  locked.publish();
  return status;
}

Status LaneDriver::damage(std::span<const std::byte, wire::kHeaderBytes> header) const {
  const protocol::FrameHeader h = protocol::decode(header).value();
  return Status(
      Code::remote, Scope::lane,
      fmt::format("wrong bytes: {} of stream {}, message {}, bytes {} to {}: payload CRC {:08x}, expected {:08x}",
                  name_of(h.type), h.stream, h.message, payload_offset(h), payload_offset(h) + h.length, check_.found(),
                  h.payload_crc));
}

Status LaneDriver::judged(Status status) {
  // Scope::session: the frame breaks a bound of the session
  const bool frame = status.scope() == Scope::lane || status.scope() == Scope::session;
  if (status.code() == Code::remote && frame && fault_ == Fault::none) fault_ = Fault::malformed;
  return status;
}

}  // namespace railweave::engine

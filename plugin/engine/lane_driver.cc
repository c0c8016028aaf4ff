#include "engine/lane_driver.h"

#include <sched.h>

#include <cassert>
#include <mutex>
#include <new>
#include <utility>

#include "base/clock.h"
#include "base/without_memory.h"
#include "engine/fork_guard.h"
#include "engine/live_session.h"
#include "protocol/frame.h"

namespace railweave::engine {

static_assert(wire::kHeaderBytes == protocol::kFrameHeaderBytes);

void LaneDriver::start(protocol::LaneId id, const RailPair& rails, std::unique_ptr<wire::Lane> lane) {
  assert(!open());
  id_.store(id, std::memory_order_relaxed);
  rails_ = rails;
  lane_ = std::move(lane);
  trace_ = LaneTrace(session_.serial(), id);
  drains_ = malformed_ = consumed_ = flush_ = false;
  looked_at_ = {};
  last_stats_ = {};
  pace_ = {};
  consumed_status_ = {};
  idle_passes_ = 0;
  blocked_.store(false, std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_relaxed);
  descriptor_.store(lane_->descriptor(), std::memory_order_relaxed);
  guard_descriptor(lane_->descriptor());
}

void LaneDriver::claim() {
  while (!try_claim()) sched_yield();
}

LaneDriver::Pass LaneDriver::pass(std::size_t budget_bytes, bool flush) {
  try {
    return move(budget_bytes, flush);
  } catch (const std::bad_alloc&) {  // the peer opened streams, say
    Pass result;
    result.status = out_of_memory();
    return result;
  }
}

LaneDriver::Pass LaneDriver::move(std::size_t budget_bytes, bool flush) {
  Pass result;
  if (!lane_) return result;
  if (trace_.wants_rail()) trace_.set_rail(lane_->stats().rail);
  // A fresh post goes out before we look for input: that look is most of what a short message would wait for.
  flush_ = false;
  const bool posts = session_.has_posts();
  if (posts && !write(result)) return result;
  const bool wrote = result.moved;
  Result<wire::Moved> in = lane_->read(*this, budget_bytes);
  if (!in.ok()) {
    result.status = in.status();
    result.malformed = malformed_;
    return result;
  }
  result.moved = wrote || in->bytes > 0;
  idle_passes_ = result.moved ? 0 : idle_passes_ + 1;
  flush_ = in->bytes == 0 && (flush || idle_passes_ > kIdlePassesMax);
  if (in->bytes > 0 || (!posts && (blocked() || session_.may_write()))) write(result);
  if (drains_) look_at_draining();
  return result;
}

// Once all is taken nobody asks how the lane does, and a lane that looked fast enough to take all would look so for ever.
void LaneDriver::look_at_draining() {
  const TimePoint t = now();
  if (t - looked_at_ < kDrainLook || !lane_) return;
  looked_at_ = t;
  const wire::LaneHealth h = lane_->health();
  drains_ = h.outstanding_bytes > 0;
  const std::lock_guard lock(session_.mutex_);
  session_.protocol_.report(id(), t, {h.outstanding_bytes, h.acknowledged_bytes, h.min_rtt});
}

bool LaneDriver::write(Pass& result) {
  Result<wire::Moved> out = lane_->write(*this);
  if (!out.ok()) return result.status = out.status(), false;
  result.moved = result.moved || out->bytes > 0;
  // Frames may be left although the kernel would take more: write() has its own measure. They are due all the same.
  result.blocked = !lane_->at_frame_boundary();
  if (result.blocked != blocked()) {
    blocked_.store(result.blocked, std::memory_order_relaxed);
    const std::lock_guard lock(session_.mutex_);
    session_.protocol_.set_blocked(id(), result.blocked);
  }
  return true;
}

void LaneDriver::close() noexcept {
  if (!lane_) return;
  try {
    last_stats_ = lane_->stats();
  } catch (const std::bad_alloc&) {  // they are for people; closing is not
  }
  last_stats_.closed = true;
  last_stats_.outstanding_bytes = 0;
  release_descriptor(descriptor_.exchange(-1));
  lane_.reset();
}

void LaneDriver::withdraw_target(protocol::StreamId stream, std::span<const std::byte> range) {
  if (!lane_) return;
  {
    const std::lock_guard lock(session_.mutex_);
    if (!session_.protocol_.lands(id(), stream)) return;
  }
  lane_->withdraw_target(range);
}

LanePacing LaneDriver::pacing(TimePoint t) {
  const wire::LaneHealth h = lane_->health();
  pace_.look(t, h);
  LanePacing pacing;
  pacing.outstanding_bytes = h.outstanding_bytes;
  pacing.left = pace_.left();
  return pacing;
}

void LaneDriver::finish_writing() {
  if (lane_) (void)lane_->finish_writing();
}

LaneStats LaneDriver::stats() { return lane_ ? lane_->stats() : last_stats_; }

// ------------------------------------------------------------------------------------- the wire asks, the session answers

std::size_t LaneDriver::next_frames(std::span<wire::OutFrame> frames) {
  const std::size_t n_max = std::min(frames.size(), next_.size());
  const std::lock_guard lock(session_.mutex_);
  session_.take_posts();
  if (const TimePoint t = now(); session_.protocol_.wants_report(id(), t)) {
    const wire::LaneHealth h = lane_->health();
    session_.protocol_.report(id(), t, {h.outstanding_bytes, h.acknowledged_bytes, h.min_rtt});
  }
  const std::size_t n = session_.protocol_.next_frames(id(), std::span(next_).first(n_max), flush_);
  for (std::size_t i = 0; i < n; ++i) {
    protocol::encode(next_[i].header, frames[i].header);
    frames[i].payload = next_[i].payload;
    drains_ |= next_[i].payload.size() >= kDrainBytes;
  }
  trace_.took(std::span(next_).first(n));
  return n;
}

void LaneDriver::written(std::size_t n) {
  trace_.wrote(n);
  const std::lock_guard lock(session_.mutex_);
  session_.protocol_.on_written(id(), n);
  session_.publish();
}

void LaneDriver::released(std::size_t n) {
  const std::lock_guard lock(session_.mutex_);
  session_.protocol_.on_released(id(), n);
  session_.publish();
}

Result<wire::Target> LaneDriver::header(std::span<const std::byte, wire::kHeaderBytes> header) {
  trace_.begins(header);
  const std::lock_guard lock(session_.mutex_);
  session_.take_posts();
  Result<std::span<std::byte>> where = session_.protocol_.on_header(id(), header);
  if (where.ok() && where->empty()) {
    consumed_ = true;
    consumed_status_ = session_.protocol_.on_consumed(id());
  }
  const bool watched = session_.protocol_.lands_watched(id());
  session_.publish();
  if (!where.ok()) return judged(where.status());
  return wire::Target{*where, watched};
}

Status LaneDriver::consumed(std::span<const std::byte, wire::kHeaderBytes>) {
  trace_.arrived();
  if (std::exchange(consumed_, false)) return judged(std::exchange(consumed_status_, Status()));
  const std::lock_guard lock(session_.mutex_);
  Status status = session_.protocol_.on_consumed(id());
  session_.publish();
  return judged(std::move(status));
}

Status LaneDriver::judged(Status status) {
  const bool frame = status.scope() == Scope::lane || status.scope() == Scope::session;  // the session's bounds, too
  malformed_ = malformed_ || (status.code() == Code::remote && frame);
  return status;
}

}  // namespace railweave::engine

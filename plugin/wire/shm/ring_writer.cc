#include "wire/shm/ring_writer.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "wire/overlap.h"

namespace railweave::wire::shm {
namespace {

std::uint64_t address_of(const std::byte* p) { return reinterpret_cast<std::uintptr_t>(p); }

}  // namespace

RingWriter::RingWriter(Direction& shared, std::byte* ring, std::atomic<std::uint32_t>& peer_waits, Peer& peer,
                       bool may_offer)
    : shared_(shared),
      ring_(ring),
      peer_waits_(peer_waits),
      peer_(peer),
      may_offer_(may_offer),
      frames_(kFrames),
      held_(kFrames),
      sent_(peer.metrics()->sent) {}

RingWriter::~RingWriter() {
  for (std::uint64_t offer = fetched_; offer < offered_; ++offer)
    slot(offer).exchange(kGone, std::memory_order_acq_rel);
}

Result<Moved> RingWriter::write(LaneHandler& handler) {
  RW_TRY(reap(handler));
  Moved moved;
  const std::uint64_t head_before = head_, written_before = written_;
  while (moved.bytes < kTurnBytes) {
    if (idle()) take(handler);
    if (idle()) {
      moved.blocked = taken_ - released_ == kFrames;
      break;
    }
    const std::uint64_t written = written_;
    RW_ASSIGN_OR_RETURN(const bool more, put(moved.bytes));
    if (written_ > written) handler.written(std::size_t(written_ - written));
    if (more) continue;
    moved.blocked = true;
    break;
  }
  if (written_ > written_before) release(handler);
  if (finishing_ && idle()) finish_writing();
  if (head_ == head_before) return moved;
  shared_.head.store(head_, std::memory_order_seq_cst);  // repeated as seq_cst, which wake() requires
  peer_.wake(peer_waits_, kForInput);
  return moved;
}

void RingWriter::take(LaneHandler& handler) {
  if (finishing_) return;
  const std::size_t free = kFrames - std::size_t(taken_ - released_);
  const std::span<OutFrame> wanted(frames_.data() + at(taken_), std::min({free, kFrames - at(taken_), kBatch}));
  if (wanted.empty()) return;
  for (OutFrame& frame : wanted) frame.payload = {};
  const std::size_t n = handler.next_frames(wanted);
  assert(n <= wanted.size());
  for (const OutFrame& frame : wanted.first(n)) taken_bytes_ += kHeaderBytes + frame.payload.size();
  taken_ += n;
}

Result<std::size_t> RingWriter::room() {
  if (kRingBytes - (head_ - tail_) >= kPiece) return std::size_t(kRingBytes - (head_ - tail_));
  const std::uint64_t tail = shared_.tail.load(std::memory_order_acquire);
  if (tail < tail_ || tail > head_ || tail % kRecordAlign != 0) return malformed("tail", tail, tail_, head_);
  tail_ = tail;
  return std::size_t(kRingBytes - (head_ - tail_));
}

void RingWriter::publish(std::size_t bytes) {
  head_ += bytes;
  shared_.head.store(head_, std::memory_order_release);
}

// Puts the record's start into the ring, which completes an offered frame. False: no room for the record or the offer.
Result<bool> RingWriter::begin(std::size_t& bytes) {
  const std::span<const std::byte> payload = frames_[at(written_)].payload;
  const bool offer =
      may_offer_ && payload.size() > kInlineMax && shared_.fetching.load(std::memory_order_acquire) == Fetching::yes;
  RW_ASSIGN_OR_RETURN(const std::size_t free, room());
  lacks_room_ = free < kRecordStartBytes;
  if (lacks_room_) return false;
  if (offer) {
    const bool fits = offered_bytes_ + payload.size() <= kOfferedBytesMax || offered_bytes_ == 0;
    if (!fits || offered_ - fetched_ == kOffersMax) return false;
    slot(offered_++).store(address_of(payload.data()), std::memory_order_release);
    offered_bytes_ += payload.size();
  }
  const RecordStart start{std::uint32_t(payload.size()), offer};
  std::byte* const to = ring_ + head_ % kRingBytes;
  std::memcpy(to, &start, sizeof start);
  std::memcpy(to + sizeof start, frames_[at(written_)].header.data(), kHeaderBytes);
  held_[at(written_)].offered = offer;
  bytes += kHeaderBytes + (offer ? payload.size() : 0);
  sent_.payload_bytes.add(payload.size());
  begun_ = true;
  if (offer || payload.empty() || free < kRecordStartBytes + payload.size()) {
    publish(kRecordStartBytes);
  } else {
    head_ += kRecordStartBytes;  // published together with the payload, which fits
  }
  return true;
}

void RingWriter::copy_in(std::span<const std::byte> piece) {
  const bool timed = piece.size() >= CopyCost::kSampleBytesMin;
  const TimePoint begin = timed ? now() : TimePoint();
  std::memcpy(ring_ + head_ % kRingBytes, piece.data(), piece.size());
  if (!timed) return;
  put_cost_.sample(piece.size(), now() - begin);
  const auto ps = std::uint32_t(std::min(put_cost_.ns_per_byte() * 1000, 1e9));
  if (ps / 16 == published_put_cost_ps_ / 16) return;
  published_put_cost_ps_ = ps;
  shared_.put_cost_ps.store(ps, std::memory_order_relaxed);
}

Result<bool> RingWriter::put(std::size_t& bytes) {
  if (!begun_) {
    RW_ASSIGN_OR_RETURN(const bool begun, begin(bytes));
    if (!begun) return false;
  }
  std::span<const std::byte>& payload = frames_[at(written_)].payload;
  while (!held_[at(written_)].offered && !payload.empty()) {
    RW_ASSIGN_OR_RETURN(const std::size_t free, room());
    const std::size_t n = std::min({payload.size(), free, kPiece});
    lacks_room_ = n == 0;
    if (lacks_room_) return false;
    copy_in(payload.first(n));
    payload = payload.subspan(n);
    bytes += n;
    publish((n + kRecordAlign - 1) / kRecordAlign * kRecordAlign);
  }
  begun_ = false;
  assert(released_ <= written_ && written_ < taken_ && taken_ - released_ <= kFrames);
  ++written_;
  sent_.frames.add();
  return true;
}

Status RingWriter::reap(LaneHandler& handler) {
  if (fetched_ == offered_) return Status();
  const std::uint64_t fetched = shared_.fetched.load(std::memory_order_acquire);
  if (fetched < fetched_ || fetched > offered_) return malformed("fetched", fetched, fetched_, offered_);
  if (fetched > fetched_) {
    fetched_ = fetched;
    release(handler);
  }
  if (fetched_ < offered_ && shared_.fetching.load(std::memory_order_acquire) != Fetching::yes) copy_on_request();
  return Status();
}

void RingWriter::release(LaneHandler& handler) {
  std::size_t n = 0;
  for (; released_ < written_; ++released_, ++n) {
    Held& held = held_[at(released_)];
    if (held.offered) {
      if (released_offers_ == fetched_) break;
      ++released_offers_;
      offered_bytes_ -= frames_[at(released_)].payload.size();
    }
    held = Held{};
  }
  if (n > 0) handler.released(n);
}

template <class F>
void RingWriter::for_each_offer(const F& f) {
  std::uint64_t offer = released_offers_;
  for (std::uint64_t i = released_; i < written_; ++i) {
    if (!held_[at(i)].offered) continue;
    if (offer >= fetched_) f(i, slot(offer));
    ++offer;
  }
}

// Copies a frame's payload into memory of the lane, and returns the address of the copy.
const std::byte* RingWriter::keep(std::uint64_t frame) {
  std::span<const std::byte>& payload = frames_[at(frame)].payload;
  auto kept = std::make_unique_for_overwrite<std::byte[]>(payload.size());
  std::memcpy(kept.get(), payload.data(), payload.size());
  payload = {kept.get(), payload.size()};
  held_[at(frame)].kept = std::move(kept);
  return payload.data();
}

// The reader discards bytes fetched before it sees the new address, and fetches them again (docs/internals/shm.md).
void RingWriter::withdraw(std::span<const std::byte> range) {
  for_each_offer([&](std::uint64_t i, std::atomic<std::uint64_t>& slot) {
    if (!overlap(frames_[at(i)].payload, range)) return;
    slot.exchange(address_of(keep(i)), std::memory_order_acq_rel);
    peer_.wake(peer_waits_, kForInput);
  });
  for (std::uint64_t i = written_; i < taken_; ++i)
    if (overlap(frames_[at(i)].payload, range)) keep(i);
}

void RingWriter::copy_on_request() {
  for_each_offer([&](std::uint64_t i, std::atomic<std::uint64_t>& slot) {
    if (slot.load(std::memory_order_acquire) != kCopyPlease || held_[at(i)].kept) return;
    slot.exchange(address_of(keep(i)), std::memory_order_seq_cst);
    peer_.wake(peer_waits_, kForInput);
  });
}

bool RingWriter::could_move() const {
  return (lacks_room_ && shared_.tail.load(std::memory_order_seq_cst) != tail_) ||
         shared_.fetched.load(std::memory_order_seq_cst) != fetched_;
}

bool RingWriter::is_asked_to_copy() const {
  if (fetched_ == offered_ || shared_.fetching.load(std::memory_order_seq_cst) == Fetching::yes) return false;
  const std::uint64_t fetched = shared_.fetched.load(std::memory_order_seq_cst);
  return fetched != fetched_ || slot(fetched).load(std::memory_order_seq_cst) == kCopyPlease;
}

std::uint64_t RingWriter::acknowledged_bytes() {
  const std::uint64_t consumed = shared_.consumed_bytes.load(std::memory_order_acquire);
  return acknowledged_ = std::clamp(consumed, acknowledged_, taken_bytes_);
}

void RingWriter::finish_writing() {
  finishing_ = true;
  if (!idle() || finished_) return;
  finished_ = true;
  shared_.finished.store(1, std::memory_order_seq_cst);
  peer_.wake(peer_waits_, kForInput);
}

Status RingWriter::malformed(const char* counter, std::uint64_t found, std::uint64_t least, std::uint64_t most) const {
  return Status(Code::remote, Scope::lane,
                peer_.name() + ": malformed ring: the reader's " + counter + " is " + std::to_string(found) +
                    ", expected " + std::to_string(least) + " to " + std::to_string(most));
}

}  // namespace railweave::wire::shm

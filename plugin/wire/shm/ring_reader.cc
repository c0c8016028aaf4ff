#include "wire/shm/ring_reader.h"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <string>

#include "base/ascending_copy.h"
#include "base/clock.h"
#include "base/error.h"
#include "wire/overlap.h"

namespace railweave::wire::shm {

RingReader::RingReader(Direction& shared, const std::byte* ring, std::atomic<std::uint32_t>& peer_waits, Peer& peer,
                       OneCopy one_copy)
    : shared_(shared),
      ring_(ring),
      peer_waits_(peer_waits),
      peer_(peer),
      one_copy_(one_copy),
      proving_(one_copy != OneCopy::never),
      received_(peer.metrics()->received) {
  if (proving_) prove();
}

void RingReader::prove() {
  const std::uint64_t address = shared_.secret_address.load(std::memory_order_acquire);
  if (address == 0) return;
  proving_ = false;
  std::array<std::byte, kSecretBytes> found{};
  bool same = peer_.fetch(address, found.data(), found.size()) == ssize_t(found.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    same = same && shared_.secret[i].load(std::memory_order_relaxed) == std::uint8_t(found[i]);
  can_fetch_ = same;
  publish_fetching();
}

void RingReader::publish_fetching() {
  const bool fetching = can_fetch_ && (one_copy_ == OneCopy::always || choice_.wants_fetch());
  if (fetching == published_fetching_) return;
  published_fetching_ = fetching;
  shared_.fetching.store(fetching ? Fetching::yes : Fetching::no, std::memory_order_seq_cst);
}

Result<Moved> RingReader::read(LaneHandler& handler, std::size_t budget_bytes) {
  if (proving_) prove();
  Moved moved;
  const std::uint64_t at_before = at_, fetched_before = fetched_;
  bool waiting = false;
  while (failure_.ok() && moved.bytes < budget_bytes && !waiting) {
    if (rest_ > 0 && offered_) {
      failure_ = take_offered(handler, budget_bytes - moved.bytes, moved.bytes, waiting);
      continue;
    }
    const std::uint64_t head = shared_.head.load(std::memory_order_acquire);
    waiting = head == at_;
    if (waiting) break;
    if (head - at_ > kRingBytes) {
      failure_ = malformed("head", head, at_);
    } else if (rest_ > 0) {
      failure_ = take_inline(handler, head, budget_bytes - moved.bytes, moved.bytes);
    } else {
      failure_ = take_record(handler, head, moved.bytes);
    }
  }
  if (!failure_.ok()) return failure_;
  moved.blocked = waiting;
  if (at_ == at_before && fetched_ == fetched_before) return moved;
  announce_consumed();
  peer_.wake(peer_waits_, kForRoom);
  return moved;
}

Status RingReader::take_record(LaneHandler& handler, std::uint64_t head, std::size_t& bytes) {
  if (head - at_ < kRecordStartBytes) return malformed("record's start", head - at_, kRecordStartBytes);
  RecordStart start;
  const std::byte* const from = ring_ + at_ % kRingBytes;
  std::memcpy(&start, from, sizeof start);
  std::memcpy(header_.data(), from + sizeof start, kHeaderBytes);
  at_ += kRecordStartBytes;
  bytes += kHeaderBytes;
  consumed_bytes_ += kHeaderBytes;
  RW_ASSIGN_OR_RETURN(const Target target, handler.header(header_));
  if (start.payload_bytes != target.where.size()) return malformed("payload", start.payload_bytes, target.where.size());
  if (start.offered > 1 || (start.offered == 1 && start.payload_bytes == 0))
    return malformed("kind of payload", start.offered, 0);
  place_ = target.where.data();
  size_ = rest_ = target.where.size();
  read_while_landing_ = target.read_while_landing;
  offered_ = start.offered == 1;
  asked_ = false;
  return rest_ == 0 ? payload_arrived(handler, 0) : Status();
}

Status RingReader::take_inline(LaneHandler& handler, std::uint64_t head, std::size_t budget, std::size_t& bytes) {
  const std::size_t n = std::min({rest_, std::size_t(head - at_), budget});
  if (place_) {
    const bool timed = n >= CopyCost::kSampleBytesMin;
    const TimePoint begin = timed ? now() : TimePoint();
    ascending_copy(place_, ring_ + at_ % kRingBytes, n);
    if (timed) choice_.set_writer_cost(double(shared_.put_cost_ps.load(std::memory_order_relaxed)) / 1000);
    if (timed) choice_.sample(false, n, now() - begin);
    if (timed) publish_fetching();
  }
  at_ += n;
  bytes += n;
  if (n == rest_) {
    at_ = (at_ + kRecordAlign - 1) / kRecordAlign * kRecordAlign;
    if (at_ > head) return malformed("record's end", at_, head);
  }
  return payload_arrived(handler, n);
}

Status RingReader::take_offered(LaneHandler& handler, std::size_t budget, std::size_t& bytes, bool& waiting) {
  std::atomic<std::uint64_t>& slot = shared_.slots[fetched_ % kOffersMax];
  std::size_t n = place_ ? std::min({rest_, budget, kFetchBytes}) : rest_;
  if (place_) {
    const TimePoint begin = now();
    RW_ASSIGN_OR_RETURN(n, read_while_landing_ ? fetch_read_while_landing(slot, n) : fetch(slot, place_, n));
    if (!read_while_landing_) choice_.sample(true, n, now() - begin);
    publish_fetching();
    waiting = n == 0;
    if (waiting) return Status();
  }
  bytes += n;
  if (n == rest_) {
    ++fetched_;
    shared_.fetched.store(fetched_, std::memory_order_release);
  }
  return payload_arrived(handler, n);
}

// Returns the bytes fetched from the slot's address; 0: the peer must make a copy first. The bytes count only if the
// slot has the same address after the read. This check is a read-modify-write, so it is ordered between the read and a
// withdrawal.
Result<std::size_t> RingReader::fetch(std::atomic<std::uint64_t>& slot, std::byte* to, std::size_t bytes) {
  const std::size_t offset = size_ - rest_;
  for (int i = 0; i < kMovesMax; ++i) {
    std::uint64_t address = slot.load(std::memory_order_acquire);
    if (address == kGone) return peer_.closed(true);
    if (address == kCopyPlease) return std::size_t{0};
    const ssize_t n = peer_.fetch(address + offset, to, bytes);
    if (!slot.compare_exchange_strong(address, address, std::memory_order_acq_rel)) continue;
    if (n <= 0) {
      RW_TRY(unreadable(slot, address, n < 0 ? int(-n) : EFAULT));
      continue;
    }
    // A dead process closed its socket before another process could get its process id. So an open socket proves whose
    // memory was read.
    if (!peer_.check_alive()) return peer_.closed(true);
    return std::size_t(n);
  }
  return malformed("payload that moved, times", kMovesMax, 1);
}

// Fetches to separate memory first, because the kernel's copy may become visible in any order.
Result<std::size_t> RingReader::fetch_read_while_landing(std::atomic<std::uint64_t>& slot, std::size_t bytes) {
  RW_ASSIGN_OR_RETURN(const std::size_t n, fetch(slot, apart_.data(), std::min(bytes, kApartBytes)));
  ascending_copy(place_, apart_.data(), n);
  return n;
}

Status RingReader::unreadable(std::atomic<std::uint64_t>& slot, std::uint64_t address, int err) {
  if (err == ESRCH || !peer_.check_alive()) return peer_.closed(true);
  if (err != EFAULT || asked_) return system_error(Scope::lane, peer_.name() + ": process_vm_readv", err);
  asked_ = true;
  can_fetch_ = false;
  publish_fetching();
  if (slot.compare_exchange_strong(address, kCopyPlease, std::memory_order_seq_cst))
    peer_.wake(peer_waits_, kForInput | kForRoom);
  return Status();
}

Status RingReader::payload_arrived(LaneHandler& handler, std::size_t n) {
  assert(n <= rest_);
  rest_ -= n;
  if (place_) place_ += n;
  received_.payload_bytes.add(n);
  consumed_bytes_ += n;
  if (consumed_bytes_ - announced_bytes_ >= kAnnounceBytes) announce_consumed();
  if (rest_ > 0) return Status();
  place_ = nullptr;
  received_.frames.add();
  return handler.consumed(header_);
}

// Lets a polling writer continue. read() wakes a sleeping writer at its end.
void RingReader::announce_consumed() {
  announced_bytes_ = consumed_bytes_;
  shared_.consumed_bytes.store(consumed_bytes_, std::memory_order_relaxed);
  shared_.tail.store(at_ / kRecordAlign * kRecordAlign, std::memory_order_seq_cst);
}

bool RingReader::has_input() const {
  if (!failure_.ok()) return true;
  if (rest_ > 0 && offered_)
    return place_ == nullptr || shared_.slots[fetched_ % kOffersMax].load(std::memory_order_seq_cst) != kCopyPlease;
  return shared_.head.load(std::memory_order_seq_cst) != at_;
}

void RingReader::withdraw(std::span<const std::byte> range) {
  if (place_ && overlap({place_, rest_}, range)) place_ = nullptr;
}

Status RingReader::malformed(const char* what, std::uint64_t found, std::uint64_t expected) const {
  return Status(Code::remote, Scope::lane,
                peer_.name() + ": malformed ring: " + what + " " + std::to_string(found) + ", expected " +
                    std::to_string(expected));
}

}  // namespace railweave::wire::shm

#include "wire/tcp/frame_reader.h"

#include <sys/uio.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>

#include "base/ascending_copy.h"
#include "base/error.h"
#include "wire/overlap.h"

namespace railweave::wire {

Result<Moved> FrameReader::read(LaneHandler& handler, std::size_t budget_bytes) {
  Moved moved;
  drained_ = false;
  while (failure_.ok()) {
    failure_ = take_ahead(handler, budget_bytes, moved.bytes);
    if (!failure_.ok()) break;
    if (moved.bytes >= budget_bytes) return moved;
    if (drained_) {
      moved.blocked = true;
      return moved;
    }
    failure_ = receive(handler, budget_bytes - moved.bytes, moved.bytes);
  }
  return failure_;
}

Status FrameReader::take_ahead(LaneHandler& handler, std::size_t budget, std::size_t& bytes) {
  while (ahead_bytes() > 0 && bytes < budget) {
    if (!in_payload()) {
      RW_TRY(take_header(handler, bytes));
      continue;
    }
    const std::size_t n = std::min({rest_, ahead_bytes(), budget - bytes});
    if (place_) ascending_copy(place_, ahead_.data() + ahead_begin_, n);
    ahead_begin_ += n;
    bytes += n;
    RW_TRY(payload_arrived(handler, n));
  }
  return Status();
}

Status FrameReader::take_header(LaneHandler& handler, std::size_t& bytes) {
  const std::size_t n = std::min(kHeaderBytes - header_have_, ahead_bytes());
  std::memcpy(header_.data() + header_have_, ahead_.data() + ahead_begin_, n);
  header_have_ += n;
  ahead_begin_ += n;
  bytes += n;
  if (!in_payload()) return Status();
  RW_ASSIGN_OR_RETURN(const Target target, handler.header(header_));
  place_ = target.where.data();
  rest_ = target.where.size();
  read_while_landing_ = target.read_while_landing;
  if (rest_ > 0) ahead_next_ = rest_ <= kSmallPayload ? kAheadSmall : kAheadLarge;
  if (rest_ == 0 && ahead_next_ == kAheadLarge) ahead_next_ = kAheadControl;
  return payload_arrived(handler, 0);
}

Status FrameReader::payload_arrived(LaneHandler& handler, std::size_t n) {
  assert(in_payload() && n <= rest_);
  rest_ -= n;
  if (place_) place_ += n;
  socket_.received.payload_bytes.add(n);
  if (rest_ > 0) return Status();
  header_have_ = 0;
  place_ = nullptr;
  socket_.received.frames.add(1);
  return handler.consumed(header_);
}

Status FrameReader::receive(LaneHandler& handler, std::size_t budget, std::size_t& bytes) {
  assert(ahead_bytes() == 0);
  iovec iov[kScratchPieces + 1];
  int pieces = 0;
  std::size_t payload = 0;  // bytes of payload that this call may bring
  if (in_payload() && place_ && !read_while_landing_) {
    payload = std::min(rest_, budget);
    iov[pieces++] = {place_, payload};
  } else if (in_payload() && !place_) {
    const std::size_t most = std::min({rest_, budget, kScratch * kScratchPieces});
    for (; payload < most; payload += iov[pieces++].iov_len)
      iov[pieces] = {scratch_.data(), std::min(kScratch, most - payload)};
  }
  std::size_t asked = payload;
  const std::size_t ahead = in_payload() && place_ && read_while_landing_ ? kAheadSmall
                            : payload == rest_                            ? ahead_next_
                                                                          : 0;
  if (ahead > 0) {
    iov[pieces++] = {ahead_.data(), ahead};
    asked += ahead;
  }
  ssize_t n;
  do {
    n = socket_.receive({iov, std::size_t(pieces)});
  } while (n < 0 && errno == EINTR);
  drained_ = n < 0 || std::size_t(n) < asked;
  if (n < 0) return errno == EAGAIN ? Status() : socket_.failure("recvmsg", errno);
  if (n == 0) {
    at_end_ = true;
    return socket_.closed_by_peer(header_have_ > 0);
  }
  const std::size_t placed = std::min(payload, std::size_t(n));
  ahead_begin_ = 0;
  ahead_end_ = std::size_t(n) - placed;
  bytes += placed;
  return placed > 0 ? payload_arrived(handler, placed) : Status();
}

void FrameReader::withdraw(std::span<const std::byte> range) {
  if (place_ && overlap({place_, rest_}, range)) place_ = nullptr;
}

}  // namespace railweave::wire

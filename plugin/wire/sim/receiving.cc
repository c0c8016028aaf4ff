#include "wire/sim/receiving.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/ascending_copy.h"
#include "base/error.h"
#include "wire/overlap.h"

namespace railweave::wire {

void ByteQueue::drop(std::size_t n) {
  begin_ += n;
  if (begin_ < bytes_.size() / 2) return;
  bytes_.erase(bytes_.begin(), bytes_.begin() + std::ptrdiff_t(begin_));
  begin_ = 0;
}

void SimReceiving::arrived(const SimPiece& piece) {
  if (piece.kind == CargoKind::end)
    ended_ = true;
  else
    stream_.append(piece.bytes);
}

Result<Moved> SimReceiving::read(LaneHandler& handler, std::size_t budget_bytes) {
  const Result<Moved> moved = take(handler, budget_bytes);
  if (read_ > 0) was_read(std::exchange(read_, 0));
  return moved;
}

Result<Moved> SimReceiving::take(LaneHandler& handler, std::size_t budget_bytes) {
  RW_TRY(failure_);
  Moved moved;
  while (moved.bytes < budget_bytes && !moved.blocked) {
    const std::size_t before = moved.bytes;
    failure_ = in_payload() ? take_payload(handler, budget_bytes - moved.bytes, moved.bytes)
                            : take_header(handler, moved.bytes);
    RW_TRY(failure_);
    moved.blocked = moved.bytes == before;
  }
  return moved;
}

Status SimReceiving::take_header(LaneHandler& handler, std::size_t& bytes) {
  const std::size_t n = std::min(kHeaderBytes - header_have_, stream_.front().size());
  if (n == 0) return Status();
  std::memcpy(header_.data() + header_have_, stream_.front().data(), n);
  header_have_ += n;
  bytes += n;
  stream_.drop(n);
  read_ += n;
  if (!in_payload()) return Status();
  RW_ASSIGN_OR_RETURN(const Target target, handler.header(header_));
  place_ = target.where.data();
  rest_ = target.where.size();
  return payload_arrived(handler, 0);
}

Status SimReceiving::take_payload(LaneHandler& handler, std::size_t budget, std::size_t& bytes) {
  const std::size_t n = std::min({rest_, stream_.front().size(), budget});
  if (n == 0) return Status();
  if (place_) {
    ascending_copy(place_, stream_.front().data(), n);
    place_ += n;
  }
  bytes += n;
  stream_.drop(n);
  read_ += n;
  return payload_arrived(handler, n);
}

Status SimReceiving::payload_arrived(LaneHandler& handler, std::size_t n) {
  rest_ -= n;
  counters->payload_bytes.add(n);
  if (rest_ > 0) return Status();
  header_have_ = 0;
  place_ = nullptr;
  counters->frames.add();
  return handler.consumed(header_);
}

void SimReceiving::withdraw(std::span<const std::byte> range) {
  if (place_ && overlap({place_, rest_}, range)) place_ = nullptr;
}

}  // namespace railweave::wire

#include "wire/sim/receiving.h"

#include <algorithm>
#include <cassert>
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

void SimReceiving::arrived(const Piece& piece) {
  switch (piece.kind) {
    case CargoKind::stream:
    case CargoKind::payload:
      stream_.append(piece.bytes);
      break;
    case CargoKind::header:
      headers_.append(piece.bytes);
      break;
    case CargoKind::write:
      write_to_region(piece);
      break;
    case CargoKind::end:
      ended_ = true;
      break;
  }
}

// As a NIC does it: without asking, and into nothing when the region is gone.
void SimReceiving::write_to_region(const Piece& piece) {
  if (!piece.bytes.empty() && piece.region < regions_.size()) {
    const auto region = regions_[piece.region];
    if (piece.offset <= region.size() && piece.bytes.size() <= region.size() - piece.offset)
      ascending_copy(region.data() + piece.offset, piece.bytes.data(), piece.bytes.size());
  }
  writing_ += piece.bytes.size();
  if (!piece.last) return;
  written_.push_back({piece.header, writing_});
  writing_ = 0;
}

Result<Moved> SimReceiving::read(LaneHandler& handler, std::size_t budget_bytes) {
  const Result<Moved> moved = take(handler, budget_bytes);
  if (read_ > 0) was_read(std::exchange(read_, 0));
  return moved;
}

Result<Moved> SimReceiving::take(LaneHandler& handler, std::size_t budget_bytes) {
  RW_TRY(failure_);
  if (placement_ == Placement::push) return read_written(handler, budget_bytes);
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
  ByteQueue& source = header_source();
  const std::size_t n = std::min(kHeaderBytes - header_have_, source.front().size());
  if (n == 0) return Status();
  std::memcpy(header_.data() + header_have_, source.front().data(), n);
  header_have_ += n;
  bytes += n;
  source.drop(n);
  read_ += n;
  if (!in_payload()) return Status();
  RW_ASSIGN_OR_RETURN(const Target target, handler.header(header_));
  place_ = target.where.data();
  rest_ = target.where.size();
  if (placement_ == Placement::pull && rest_ > 0) fetch();
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
  if (placement_ == Placement::ask) read_ += n;
  return payload_arrived(handler, n);
}

Status SimReceiving::payload_arrived(LaneHandler& handler, std::size_t n) {
  rest_ -= n;
  payload_bytes += n;
  if (rest_ > 0) return Status();
  header_have_ = 0;
  place_ = nullptr;
  ++frames;
  return handler.consumed(header_);
}

Result<Moved> SimReceiving::read_written(LaneHandler& handler, std::size_t budget) {
  Moved moved;
  while (moved.bytes < budget && !written_.empty()) {
    const Written frame = written_.front();
    written_.pop_front();
    moved.bytes += kHeaderBytes + frame.payload;
    payload_bytes += frame.payload;
    ++frames;
    failure_ = handler.consumed(frame.header);
    RW_TRY(failure_);
  }
  moved.blocked = written_.empty();
  return moved;
}

void SimReceiving::withdraw(std::span<const std::byte> range) {
  if (place_ && overlap({place_, rest_}, range)) place_ = nullptr;
  for (auto& region : regions_)
    if (overlap(region, range)) region = {};
}

std::size_t SimReceiving::make_token(std::span<std::byte> region, std::span<std::byte, kTokenBytesMax> token) {
  if (placement_ != Placement::push) return 0;
  const auto same = [&](auto r) { return r.data() == region.data() && r.size() == region.size(); };
  auto found = std::find_if(regions_.begin(), regions_.end(), same);
  if (found == regions_.end()) found = regions_.insert(found, region);
  const std::uint64_t number = std::uint64_t(found - regions_.begin());
  std::memcpy(token.data(), &number, sizeof number);
  return sizeof number;
}

}  // namespace railweave::wire

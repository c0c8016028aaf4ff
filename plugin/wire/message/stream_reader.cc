#include "wire/message/stream_reader.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "base/ascending_copy.h"
#include "base/error.h"
#include "wire/overlap.h"

namespace railweave::wire::message {

Result<std::size_t> StreamReader::take(LaneHandler& handler, std::span<const std::byte> bytes, std::size_t budget) {
  std::size_t taken = 0;
  while (taken < bytes.size() && taken < budget) {
    const std::size_t wanted = in_payload() ? rest_ : kHeaderBytes - header_have_;
    const auto piece = bytes.subspan(taken, std::min({wanted, bytes.size() - taken, budget - taken}));
    taken += piece.size();
    RW_TRY(in_payload() ? take_payload(handler, piece) : take_header(handler, piece));
  }
  return taken;
}

Status StreamReader::take_header(LaneHandler& handler, std::span<const std::byte> bytes) {
  std::memcpy(header_.data() + header_have_, bytes.data(), bytes.size());
  header_have_ += bytes.size();
  if (!in_payload()) return {};
  RW_ASSIGN_OR_RETURN(const Target target, handler.header(header_));
  place_ = target.where.data();
  rest_ = target.where.size();
  read_while_landing_ = target.read_while_landing;
  return consume_if_whole(handler);
}

Status StreamReader::take_payload(LaneHandler& handler, std::span<const std::byte> bytes) {
  assert(bytes.size() <= rest_);
  if (place_ && read_while_landing_) ascending_copy(place_, bytes.data(), bytes.size());
  if (place_ && !read_while_landing_) std::memcpy(place_, bytes.data(), bytes.size());
  if (place_) place_ += bytes.size();
  rest_ -= bytes.size();
  received_.payload_bytes.add(bytes.size());
  return consume_if_whole(handler);
}

Status StreamReader::consume_if_whole(LaneHandler& handler) {
  if (rest_ > 0) return {};
  header_have_ = 0;
  place_ = nullptr;
  received_.frames.add();
  return handler.consumed(header_);
}

void StreamReader::withdraw(std::span<const std::byte> range) {
  if (place_ && overlap({place_, rest_}, range)) place_ = nullptr;
}

}  // namespace railweave::wire::message

#include "protocol/lane_ledger.h"

#include <cassert>
#include <string>

namespace railweave::protocol {

void LaneLedger::take(FrameHeader& frame) {
  assert(has_room() || (frame.type == FrameType::keep && has_room_for_report()));
  frame.sequence = std::uint32_t(taken_);
  frame.consumed = std::uint32_t(consumed_);
  reported_ = consumed_;
  at(taken_++) = frame;
  if (is_statement(frame.type)) statements_end_ = taken_;
}

std::uint64_t LaneLedger::on_kernel_acknowledged(std::uint64_t bytes) {
  if (kernel_acknowledged_ < first_) {
    kernel_acknowledged_ = first_;
    unacknowledged_byte_ = first_byte_;
  }
  while (kernel_acknowledged_ < taken_) {
    const std::uint64_t end = unacknowledged_byte_ + bytes_of(at(kernel_acknowledged_));
    if (end > bytes) break;
    unacknowledged_byte_ = end;
    ++kernel_acknowledged_;
  }
  assert(first_ <= kernel_acknowledged_ && kernel_acknowledged_ <= taken_);
  return kernel_acknowledged_;
}

Status LaneLedger::on_peer_consumed(std::uint32_t consumed) {
  const std::uint64_t more = std::uint32_t(consumed - std::uint32_t(peer_consumed_));
  if (more > written_ - peer_consumed_)
    return Status(Code::remote, Scope::lane,
                  "the peer says it consumed " + std::to_string(peer_consumed_ + more) +
                      " frames of this lane, but only " + std::to_string(written_) + " were written");
  peer_consumed_ += more;
  assert(peer_consumed_ <= written_ && written_ <= taken_);
  return {};
}

const FrameHeader* LaneLedger::forget_next() {
  assert(first_ <= std::min(released_, peer_consumed_));
  if (first_ == std::min(released_, peer_consumed_)) return nullptr;
  return &forget_first();
}

Status LaneLedger::on_fence(std::uint64_t consumed) {
  if (consumed < peer_consumed_ || consumed > written_)
    return Status(Code::remote, Scope::session,
                  "FENCE after " + std::to_string(consumed) + " frames, expected " + std::to_string(peer_consumed_) +
                      " to " + std::to_string(written_));
  released_ = taken_;
  peer_consumed_ = consumed;
  return {};
}

Status LaneLedger::on_header(std::uint32_t sequence) {
  if (sequence == std::uint32_t(consumed_)) return {};
  return Status(Code::remote, Scope::lane,
                "malformed frame: sequence " + std::to_string(sequence) + ", expected " +
                    std::to_string(std::uint32_t(consumed_)));
}

}  // namespace railweave::protocol

// Late control: statements that a lane's kernel does not get acknowledged in time are retransmitted by another lane
// (decision D8). No fence is needed: a statement of state does no harm late or twice.
#include <algorithm>

#include "protocol/session_protocol.h"

namespace railweave::protocol {

bool SessionProtocol::watches_control() const {
  if (live_lanes() < 2) return false;
  return std::ranges::any_of(lanes_, [](const auto& lane) {
    return lane->state == Lane::State::live &&
           (lane->late.any() || lane->ledger.statements_end() > lane->ledger.kernel_acknowledged());
  });
}

std::size_t SessionProtocol::retransmit_late_control(TimePoint before, TimePoint now,
                                                     std::span<const ReportedLane> lanes) {
  for (const ReportedLane& reported : lanes) {
    Lane* lane = find(reported.lane);
    if (lane == nullptr || lane->state != Lane::State::live) continue;
    const std::uint64_t acknowledged = lane->ledger.on_kernel_acknowledged(reported.report.acknowledged_bytes);
    lane->late.observe(before, now, lane->ledger.taken(), acknowledged, reported.report.smoothed_rtt);
  }
  const bool another =
      std::ranges::any_of(lanes_, [this](const auto& lane) { return serves(*lane) && !lane->late.any(); });
  // Nothing follows a GOODBYE: lanes half-close as soon as it is written.
  if (!another || goodbye_written_) return 0;
  std::size_t retransmitted = 0;
  for (const auto& lane : lanes_) {
    if (lane->state != Lane::State::live) continue;
    const LateFrames::Range late = lane->late.take_new();
    lane->ledger.for_each_of(late.first, late.end, [&](const FrameHeader& frame) {
      if (!is_statement(frame.type)) return;
      retransmit(frame);
      ++retransmitted;
    });
  }
  control_frames_retransmitted_ += retransmitted;
  return retransmitted;
}

void SessionProtocol::retransmit(const FrameHeader& frame) {
  if (frame.type != FrameType::fence) return repeat({frame, true});
  if (Lane* of = find(FenceFrame::of(frame).lane); of != nullptr && !of->fence_taken)
    of->fence_pending = session_control_ = true;
}

}  // namespace railweave::protocol

// Records one lane's segments in the process's trace (base/trace.h). A sent segment lasts from when the lane took the
// segment until the kernel had it. A received segment lasts from its header until its last byte was in place. While the
// trace is off, frames are counted only.
//
// Threads: the holder of the lane's claim.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/trace.h"
#include "protocol/frame.h"
#include "protocol/session_protocol.h"

namespace railweave::engine {

class LaneTrace {
 public:
  // `clock` outlives the object. `session`: the session's serial, the same at both ends.
  LaneTrace(const Clock& clock, std::uint64_t session, protocol::LaneId lane)
      : clock_(&clock), session_(std::uint32_t(session)), lane_(lane) {}

  // The trace is on and the rail's name is not known yet: call set_rail(). Nothing is recorded before.
  bool wants_rail() const { return trace::on() && !has_rail_; }
  void set_rail(std::string_view name);

  // The lane took `frames`, in this order.
  void took(std::span<const protocol::OutgoingFrame> frames) {
    if (frames.empty()) return;
    if (records()) note(frames);
    taken_ += frames.size();
  }
  // The `frames` oldest frames that were taken and not yet written are written now.
  void wrote(std::size_t frames) {
    if (frames == 0) return;
    written_ += frames;
    if (!unwritten_.empty()) record_written();
  }
  // A frame's header arrived.
  void begins(protocol::ConstHeaderBytes header) {
    if (records()) note(header);
  }
  // The frame whose header came last is wholly in place.
  void arrived() {
    if (arriving_.bytes > 0) record_arrived();
  }

 private:
  struct Segment {
    std::uint64_t frame = 0;  // index among all frames that the lane took
    std::int64_t begin = 0;   // nanoseconds by the clock
    std::uint64_t tag = 0;
    std::uint32_t bytes = 0, sequence = 0;
  };

  bool records() const { return trace::on() && has_rail_; }
  void note(std::span<const protocol::OutgoingFrame> frames);
  void note(protocol::ConstHeaderBytes header);
  void record_written();
  void record_arrived();
  void record(const Segment& segment, trace::Kind kind) const;

  const Clock* clock_;
  std::uint32_t session_;
  protocol::LaneId lane_;
  bool has_rail_ = false;
  std::uint16_t rail_ = 0;
  std::uint64_t taken_ = 0, written_ = 0;
  std::vector<Segment> unwritten_;  // oldest first
  Segment arriving_;                // bytes == 0: none
};

}  // namespace railweave::engine

// One lane's segments in the process's trace: each from when the lane took it until the kernel had it, and from its
// header until its last byte was in place. Off, it counts frames.
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
  // `clock` outlives it. `session`: its serial, which both ends know.
  LaneTrace(const Clock& clock, std::uint64_t session, protocol::LaneId lane)
      : clock_(&clock), session_(std::uint32_t(session)), lane_(lane) {}

  // Records need the rail's name once: asked while the trace is on.
  bool wants_rail() const { return trace::on() && !has_rail_; }
  void set_rail(std::string_view name);

  // Frames that the lane takes next, in order.
  void took(std::span<const protocol::OutgoingFrame> frames) {
    if (frames.empty()) return;
    if (records()) note(frames);
    taken_ += frames.size();
  }
  // The oldest that are not written yet are now.
  void wrote(std::size_t frames) {
    if (frames == 0) return;
    written_ += frames;
    if (!unwritten_.empty()) record_written();
  }
  void begins(protocol::ConstHeaderBytes header) {
    if (records()) note(header);
  }
  // All of the frame whose header came last.
  void arrived() {
    if (arriving_.bytes > 0) record_arrived();
  }

 private:
  struct Segment {
    std::uint64_t frame = 0;  // of all that the lane took
    std::int64_t begin = 0;
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
  std::vector<Segment> unwritten_;  // the oldest first
  Segment arriving_;                // without bytes: none
};

}  // namespace railweave::engine

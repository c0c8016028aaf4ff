// LaneLedger: exact counts of the frames that one lane carried, both ways; the basis of fences (decision D6). Outgoing
// frames stay here until lane and kernel released them and the peer consumed them. A fence names a count, and exactly
// the frames after it are retransmitted. Incoming frames are only counted.
// Threads: one at a time.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>
#include <optional>

#include "protocol/frame.h"

namespace railweave::protocol {

inline constexpr std::size_t kLedgerFrames = 1024;  // frames; a lane with so many unconfirmed ones takes no more
// Places that only KEEP may use. Two ends whose ledgers filled up at the same moment can still report what they
// consumed. Half a dozen would do: a peer without reports fills 1024 places, and a KEEP goes out for every quarter of
// them.
inline constexpr std::size_t kLedgerFramesForReports = 8;
static_assert(kLedgerFramesForReports < kLedgerFrames / 4, "owes_report() is true before only reports have room");

class LaneLedger {
 public:
  struct Lost {
    FrameHeader frame;
    bool written;  // the frame had gone to the kernel
  };

  // --- outgoing. While the lane lives: taken >= written >= released, and written >= consumed by the peer
  bool has_room() const { return taken_ - first_ < kLedgerFrames - kLedgerFramesForReports; }
  bool has_room_for_report() const { return taken_ - first_ < kLedgerFrames; }
  // Numbers the frame and remembers it. REQUIRES: has_room(); for a KEEP has_room_for_report() is enough.
  void take(FrameHeader& frame);
  // Returns the oldest frame not yet written, and counts it as written. REQUIRES: there is one.
  const FrameHeader& write_next() {
    assert(written_ < taken_);
    return at(written_++);
  }
  // Returns the oldest frame not yet released, and counts it as released. REQUIRES: there is one.
  const FrameHeader& release_next() {
    assert(released_ < taken_);
    return at(released_++);
  }
  // The lane wrote a frame and has not released it yet.
  bool owes_release() const { return released_ < written_; }
  // Frames that the lane took, ever.
  std::uint64_t taken() const { return taken_; }
  bool all_released() const { return released_ == taken_; }
  // Takes in the peer's count of consumed frames, modulo 2^32 as in every header. Errors (Scope::lane): more than was
  // written.
  Status on_peer_consumed(std::uint32_t consumed);
  bool all_consumed() const { return peer_consumed_ == taken_; }
  // Calls `f` for every remembered frame, oldest first.
  template <class F>
  void for_each(F f) const {
    for_each_of(first_, taken_, f);
  }
  // Calls `f` for the remembered frames numbered `from` to below `end`, oldest first.
  template <class F>
  void for_each_of(std::uint64_t from, std::uint64_t end, F f) const {
    for (std::uint64_t i = std::max(from, first_); i < std::min(end, taken_); ++i) f(frames_[i % kLedgerFrames]);
  }
  // One above the number of the newest statement of state; 0: the lane took none.
  std::uint64_t statements_end() const { return statements_end_; }
  // The peer's kernel acknowledged the first `bytes` bytes of the lane. Returns how many frames lie wholly within them.
  // Neither number goes back.
  std::uint64_t on_kernel_acknowledged(std::uint64_t bytes);
  // The last result of on_kernel_acknowledged(), or more if the peer's session has confirmed more since.
  std::uint64_t kernel_acknowledged() const { return std::max(kernel_acknowledged_, first_); }
  // Forgets the oldest frame if lane, kernel and peer are done with it, and returns it; else returns null. Valid until
  // take().
  const FrameHeader* forget_next();

  // The lane is lost, and the peer consumed exactly `consumed` frames. Then forget_next() returns these frames, and
  // lost_next() the frames to retransmit. Errors (Scope::session): a count that is impossible.
  Status on_fence(std::uint64_t consumed);
  std::optional<Lost> lost_next() {
    if (first_ == taken_) return std::nullopt;
    const bool written = first_ < written_;
    return Lost{forget_first(), written};
  }

  // --- incoming
  // Errors (Scope::lane): a frame is missing or repeated.
  Status on_header(std::uint32_t sequence);
  void on_consumed() { ++consumed_; }
  std::uint64_t consumed() const { return consumed_; }
  // The peer is due a report: a quarter of kLedgerFrames was consumed since the last one.
  bool owes_report() const { return consumed_ - reported_ >= kLedgerFrames / 4; }

 private:
  FrameHeader& at(std::uint64_t number) { return frames_[number % kLedgerFrames]; }
  static std::uint64_t bytes_of(const FrameHeader& frame) { return kFrameHeaderBytes + frame.length; }
  const FrameHeader& forget_first() {
    assert(first_ < taken_);
    first_byte_ += bytes_of(at(first_));
    return at(first_++);
  }

  std::array<FrameHeader, kLedgerFrames> frames_;
  std::uint64_t first_ = 0;       // number of the oldest frame remembered
  std::uint64_t first_byte_ = 0;  // position of that frame on the lane, bytes
  std::uint64_t taken_ = 0, written_ = 0, released_ = 0, peer_consumed_ = 0;
  std::uint64_t statements_end_ = 0;
  std::uint64_t kernel_acknowledged_ = 0;  // frames
  std::uint64_t unacknowledged_byte_ = 0;  // position of the first frame after these, bytes
  std::uint64_t consumed_ = 0, reported_ = 0;
};

}  // namespace railweave::protocol

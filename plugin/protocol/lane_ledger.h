// What one lane carried, both ways, as exact counts: the basis of fences (decision D6). Going out, every frame taken by
// the lane stays here until the lane and the kernel let go of it and the peer said it consumed it; a fence names a
// count, and exactly the frames after it go again. Coming in, only counts. One thread at a time.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>
#include <optional>

#include "protocol/frame.h"

namespace railweave::protocol {

inline constexpr std::size_t kLedgerFrames = 1024;  // a lane with so many unanswered takes no more
// Places that only KEEP may use: two ends whose ledgers filled up at the same moment can still tell what they consumed.
// Half a dozen would do: a peer that hears nothing fills 1024, and a KEEP goes out for every quarter of that.
inline constexpr std::size_t kLedgerFramesForReports = 8;
static_assert(kLedgerFramesForReports < kLedgerFrames / 4, "owes_report() is true before only reports have room");

class LaneLedger {
 public:
  struct Lost {
    FrameHeader frame;
    bool written;  // it had gone to the kernel
  };

  // --- going out: taken >= written >= released, and >= consumed by the peer, while the lane lives
  bool has_room() const { return taken_ - first_ < kLedgerFrames - kLedgerFramesForReports; }
  bool has_room_for_report() const { return taken_ - first_ < kLedgerFrames; }
  // Numbers the frame and remembers it. REQUIRES: has_room(), or has_room_for_report() and the frame is a KEEP.
  void take(FrameHeader& frame);
  // The oldest frame not yet written (released). REQUIRES: there is one.
  const FrameHeader& write_next() {
    assert(written_ < taken_);
    return at(written_++);
  }
  const FrameHeader& release_next() {
    assert(released_ < taken_);
    return at(released_++);
  }
  // The lane wrote a frame that it did not release.
  bool owes_release() const { return released_ < written_; }
  // Frames ever.
  std::uint64_t taken() const { return taken_; }
  bool all_released() const { return released_ == taken_; }
  // `consumed` modulo 2^32, as every header carries it. Errors: more than was written.
  Status on_peer_consumed(std::uint32_t consumed);
  bool all_consumed() const { return peer_consumed_ == taken_; }
  // Every frame remembered, oldest first.
  template <class F>
  void for_each(F f) const {
    for_each_of(first_, taken_, f);
  }
  // Remembered frames numbered `from` to below `end`, oldest first.
  template <class F>
  void for_each_of(std::uint64_t from, std::uint64_t end, F f) const {
    for (std::uint64_t i = std::max(from, first_); i < std::min(end, taken_); ++i) f(frames_[i % kLedgerFrames]);
  }
  // One above the number of the newest statement of state; 0: the lane took none.
  std::uint64_t statements_end() const { return statements_end_; }
  // The peer's kernel acknowledged the first `bytes` bytes of the lane. Returns how many frames lie wholly within.
  // Neither goes back.
  std::uint64_t on_kernel_acknowledged(std::uint64_t bytes);
  // What on_kernel_acknowledged() returned last, or more if the peer's session said so since.
  std::uint64_t kernel_acknowledged() const { return std::max(kernel_acknowledged_, first_); }
  // Forgets the oldest frame if nothing needs it any more; null when there is none.
  const FrameHeader* forget_next();

  // The lane is gone and the peer consumed exactly `consumed` frames: forget_next() gives these, then lost_next() those
  // that must go again. Errors: a count that cannot be.
  Status on_fence(std::uint64_t consumed);
  std::optional<Lost> lost_next() {
    if (first_ == taken_) return std::nullopt;
    const bool written = first_ < written_;
    return Lost{forget_first(), written};
  }

  // --- coming in
  // Errors: a frame is missing or repeated.
  Status on_header(std::uint32_t sequence);
  void on_consumed() { ++consumed_; }
  std::uint64_t consumed() const { return consumed_; }
  // So many frames were consumed since the peer was last told that it wants to know.
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
  std::uint64_t first_ = 0;       // oldest frame remembered
  std::uint64_t first_byte_ = 0;  // where on the lane that frame begins
  std::uint64_t taken_ = 0, written_ = 0, released_ = 0, peer_consumed_ = 0;
  std::uint64_t statements_end_ = 0;
  std::uint64_t kernel_acknowledged_ = 0;  // frames
  std::uint64_t unacknowledged_byte_ = 0;  // where on the lane the first frame after these begins
  std::uint64_t consumed_ = 0, reported_ = 0;
};

}  // namespace railweave::protocol

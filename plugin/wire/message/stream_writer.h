// Turns frames into the byte stream that blocks carry: takes frames from the handler, and copies headers and payload
// into the slot of the next block.
//
// A frame is first taken (from the handler), then copied, then written (the block with its last byte was sent), then
// released (this block left). Payload is read until it is copied, and not later. Threads: the lane's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "wire/lane_metrics.h"
#include "wire/wire.h"

namespace railweave::wire::message {

class StreamWriter {
 public:
  explicit StreamWriter(LaneCounters& sent) : sent_(sent) {}

  // Copies the next bytes of the stream to `room`, and takes frames as long as the handler has some and there is room.
  // Returns the number of bytes; 0: there is no frame. `takes`: false: only frames that were taken before.
  std::size_t fill(LaneHandler& handler, std::span<std::byte> room, bool takes);
  // Returns the number of frames of which fill() copied the last byte since the previous call.
  std::size_t take_copied_frames();
  void withdraw(std::span<const std::byte> range);  // see Lane::withdraw_payload

  bool idle() const { return next_ == taken_; }                 // every taken frame is copied
  std::uint64_t taken_bytes() const { return taken_bytes_; }    // headers included, since the lane began
  std::uint64_t copied_bytes() const { return copied_bytes_; }  // the same, of copied frames and parts

 private:
  static constexpr std::size_t kBatch = 16;  // frames taken at once

  bool take(LaneHandler& handler);
  std::size_t copy_some(std::span<std::byte> room);

  LaneCounters& sent_;
  std::array<OutFrame, kBatch> frames_{};                  // the payload shrinks as it is copied
  std::array<std::unique_ptr<std::byte[]>, kBatch> kept_;  // copies of withdrawn payload
  std::size_t next_ = 0, taken_ = 0;                       // frames_[next_ to taken_) are not wholly copied
  std::size_t header_copied_ = 0;                          // header bytes of frames_[next_]
  std::size_t copied_frames_ = 0;                          // wholly copied since take_copied_frames()
  std::uint64_t taken_bytes_ = 0, copied_bytes_ = 0;
};

}  // namespace railweave::wire::message

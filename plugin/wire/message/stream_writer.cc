#include "wire/message/stream_writer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "wire/overlap.h"

namespace railweave::wire::message {

std::size_t StreamWriter::fill(LaneHandler& handler, std::span<std::byte> room, bool takes) {
  std::size_t filled = 0;
  while (filled < room.size()) {
    if (idle() && !(takes && take(handler))) break;
    filled += copy_some(room.subspan(filled));
  }
  copied_bytes_ += filled;
  return filled;
}

bool StreamWriter::take(LaneHandler& handler) {
  for (OutFrame& frame : frames_) frame.payload = {};
  next_ = 0;
  taken_ = handler.next_frames(frames_);
  for (std::size_t i = 0; i < taken_; ++i) taken_bytes_ += kHeaderBytes + frames_[i].payload.size();
  return taken_ > 0;
}

// Copies what `room` has room for of the next frame.
std::size_t StreamWriter::copy_some(std::span<std::byte> room) {
  OutFrame& frame = frames_[next_];
  const std::size_t header = std::min(room.size(), kHeaderBytes - header_copied_);
  std::memcpy(room.data(), frame.header.data() + header_copied_, header);
  header_copied_ += header;
  const std::size_t payload = std::min(room.size() - header, frame.payload.size());
  if (payload > 0) std::memcpy(room.data() + header, frame.payload.data(), payload);
  frame.payload = frame.payload.subspan(payload);
  sent_.payload_bytes.add(payload);
  if (header_copied_ == kHeaderBytes && frame.payload.empty()) {
    kept_[next_].reset();
    header_copied_ = 0;
    ++next_;
    ++copied_frames_;
  }
  return header + payload;
}

std::size_t StreamWriter::take_copied_frames() {
  sent_.frames.add(copied_frames_);
  return std::exchange(copied_frames_, 0);
}

void StreamWriter::withdraw(std::span<const std::byte> range) {
  for (std::size_t i = next_; i < taken_; ++i) {
    auto& payload = frames_[i].payload;
    if (!overlap(payload, range)) continue;
    auto kept = std::make_unique_for_overwrite<std::byte[]>(payload.size());
    std::memcpy(kept.get(), payload.data(), payload.size());
    payload = {kept.get(), payload.size()};
    kept_[i] = std::move(kept);
  }
}

}  // namespace railweave::wire::message

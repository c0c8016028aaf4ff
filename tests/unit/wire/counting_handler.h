// A LaneHandler that sends frames of given sizes and counts the frames that arrive. The first 4 bytes of a header are
// the payload's size. The contract suite checks everything else.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <optional>
#include <vector>

#include "wire/wire.h"

namespace railweave::wire {

class CountingHandler final : public LaneHandler {
 public:
  std::deque<std::size_t> to_send;
  std::size_t sent = 0, freed = 0, arrived = 0;
  std::uint64_t arrived_payload = 0;
  std::optional<Target> answer;  // target of every frame; none: memory of the handler

  std::span<std::byte> memory() { return memory_; }  // payloads of sent frames

  std::size_t next_frames(std::span<OutFrame> frames) override {
    std::size_t n = 0;
    if (const auto largest = std::ranges::max_element(to_send); largest != to_send.end() && memory_.size() < *largest)
      memory_.resize(*largest);
    for (; n < frames.size() && !to_send.empty(); ++n, to_send.pop_front()) {
      const auto size = std::uint32_t(to_send.front());
      std::memcpy(frames[n].header.data(), &size, sizeof size);
      frames[n].payload = std::span(memory_).first(size);
    }
    return n;
  }
  void written(std::size_t n) override { sent += n; }
  void released(std::size_t n) override { freed += n; }
  Result<Target> header(std::span<const std::byte, kHeaderBytes> header) override {
    std::uint32_t size;
    std::memcpy(&size, header.data(), sizeof size);
    if (answer) return Target{std::span(answer->where).first(size), answer->read_while_landing};
    if (place_.size() < size) place_.resize(size);
    return Target{std::span(place_).first(size)};
  }
  Status consumed(std::span<const std::byte, kHeaderBytes> header) override {
    std::uint32_t size;
    std::memcpy(&size, header.data(), sizeof size);
    ++arrived;
    arrived_payload += size;
    return Status();
  }

 private:
  std::vector<std::byte> memory_, place_;
};

}  // namespace railweave::wire

// Reads frames from the byte stream that blocks carry: a header, then the payload, which it copies to its place.
// Threads: the lane's.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "wire/lane_metrics.h"
#include "wire/wire.h"

namespace railweave::wire::message {

class StreamReader {
 public:
  explicit StreamReader(LaneCounters& received) : received_(received) {}

  // Takes up to `budget` of the stream's next bytes. Returns how many were
  // taken; those behind them are to be passed again. Errors: the handler's, final.
  Result<std::size_t> take(LaneHandler& handler, std::span<const std::byte> bytes, std::size_t budget);
  void withdraw(std::span<const std::byte> range);  // see Lane::withdraw_target
  bool inside_frame() const { return header_have_ > 0; }

 private:
  bool in_payload() const { return header_have_ == kHeaderBytes; }
  Status take_header(LaneHandler& handler, std::span<const std::byte> bytes);
  Status take_payload(LaneHandler& handler, std::span<const std::byte> bytes);
  Status consume_if_whole(LaneHandler& handler);

  LaneCounters& received_;
  std::array<std::byte, kHeaderBytes> header_{};
  std::size_t header_have_ = 0;      // bytes; kHeaderBytes: payload follows
  std::byte* place_ = nullptr;       // for the payload's next byte; null: discard
  std::size_t rest_ = 0;             // bytes of payload to come
  bool read_while_landing_ = false;  // see Target
};

}  // namespace railweave::wire::message

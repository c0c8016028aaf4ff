// The receiving half of a simulated lane: stores arrived bytes, and passes them to the handler. Threads: the network's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "wire/sim/pipe.h"
#include "wire/wire.h"

namespace railweave::wire {

// A queue of bytes in order of arrival.
class ByteQueue {
 public:
  void append(std::span<const std::byte> bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  std::span<const std::byte> front() const { return std::span(bytes_).subspan(begin_); }
  void drop(std::size_t n);
  bool empty() const { return begin_ == bytes_.size(); }

 private:
  std::vector<std::byte> bytes_;
  std::size_t begin_ = 0;
};

class SimReceiving {
 public:
  // Called when `bytes` of the receive buffer are free again. Set before the first byte arrives.
  std::function<void(std::size_t bytes)> was_read;

  void arrived(const SimPiece& piece);
  // See Lane::read, except for the lane's end and loss: an empty buffer only returns blocked. SimLane adds the error.
  Result<Moved> read(LaneHandler& handler, std::size_t budget_bytes);
  void withdraw(std::span<const std::byte> range);  // see Lane::withdraw_target

  bool ended() const { return ended_; }  // the peer's end of input has arrived
  bool inside_frame() const { return header_have_ > 0; }
  bool unread() const { return !stream_.empty(); }  // arrived bytes wait for read()

  LaneCounters* counters = nullptr;  // the lane's; set before the first read()

 private:
  Result<Moved> take(LaneHandler& handler, std::size_t budget_bytes);
  Status take_header(LaneHandler& handler, std::size_t& bytes);
  Status take_payload(LaneHandler& handler, std::size_t budget, std::size_t& bytes);
  Status payload_arrived(LaneHandler& handler, std::size_t n);
  bool in_payload() const { return header_have_ == kHeaderBytes; }

  Status failure_;  // the handler's first error, kept
  bool ended_ = false;

  ByteQueue stream_;
  std::array<std::byte, kHeaderBytes> header_{};
  std::size_t header_have_ = 0;
  std::byte* place_ = nullptr;  // for the payload's next byte; null: discard
  std::size_t rest_ = 0;        // bytes of payload to come
  std::size_t read_ = 0;        // bytes taken by this read(), which passes them to was_read at its end
};

}  // namespace railweave::wire

// The receiving half of a TcpLane: reads a header, then the payload to its place, with few system calls.
//
// Each recvmsg() gets the rest of the payload's place and behind it a read-ahead buffer. So one call completes a frame
// and brings the next header. The size of the read-ahead depends on the lane's traffic. Behind large payload it is
// small, because its bytes are copied twice. Behind small payload it holds one frame or many, because a copy is cheaper
// than a call. Control frames have no payload and do not change the choice.
// Payload with read_while_landing arrives by the read-ahead only: the kernel copies with string instructions, whose
// stores may become visible in any order (Intel SDM 3A, 9.2.4).
//
// Threads: the lane's.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "wire/tcp/lane_socket.h"
#include "wire/wire.h"

namespace railweave::wire {

class FrameReader {
 public:
  explicit FrameReader(LaneSocket& socket) : socket_(socket) {}

  // See Lane::read. After an error each call returns the same error.
  Result<Moved> read(LaneHandler& handler, std::size_t budget_bytes);
  void withdraw(std::span<const std::byte> range);  // see Lane::withdraw_target
  bool at_end() const { return at_end_; }           // the peer's orderly end of input was reached

 private:
  static constexpr std::size_t kSmallPayload = 8 * KiB;  // payload up to this size is small
  static constexpr std::size_t kAheadSmall = 16 * KiB;   // read-ahead behind small payload
  // read-ahead behind large payload: one header, so that the kernel copies the next payload to its place, aligned
  static constexpr std::size_t kAheadLarge = kHeaderBytes;
  // read-ahead behind a control frame among large payload: more control frames may follow
  static constexpr std::size_t kAheadControl = 512;
  static constexpr std::size_t kScratch = 4 * KiB, kScratchPieces = 16;

  bool in_payload() const { return header_have_ == kHeaderBytes; }
  std::size_t ahead_bytes() const { return ahead_end_ - ahead_begin_; }

  // Parses bytes of the read-ahead until `bytes` reaches `budget`, and adds their number to `bytes`.
  Status take_ahead(LaneHandler& handler, std::size_t budget, std::size_t& bytes);
  Status take_header(LaneHandler& handler, std::size_t& bytes);
  // Makes one recvmsg() of about `budget` bytes into place and read-ahead. Sets drained_. REQUIRES: read-ahead empty.
  Status receive(LaneHandler& handler, std::size_t budget, std::size_t& bytes);
  Status payload_arrived(LaneHandler& handler, std::size_t n);

  LaneSocket& socket_;
  Status failure_;  // the first error, kept
  bool at_end_ = false;
  bool drained_ = false;                  // the last recvmsg() got fewer bytes than it asked for
  std::size_t ahead_next_ = kAheadSmall;  // read-ahead behind the current frame, bytes

  std::array<std::byte, kHeaderBytes> header_{};
  std::size_t header_have_ = 0;      // bytes; kHeaderBytes: payload follows
  std::byte* place_ = nullptr;       // for the payload's next byte; null: discard
  std::size_t rest_ = 0;             // bytes of payload to come
  bool read_while_landing_ = false;  // see Target

  std::size_t ahead_begin_ = 0, ahead_end_ = 0;  // the bytes of ahead_ that are not parsed yet
  alignas(64) std::array<std::byte, kAheadSmall> ahead_;
  std::array<std::byte, kScratch> scratch_;  // discarded payload: many iovecs share this buffer
};

}  // namespace railweave::wire

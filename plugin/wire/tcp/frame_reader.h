// The receiving half of a TcpLane: header, then payload to its place, with few system calls.
//
// Each recvmsg offers the rest of the payload's place and, behind it, a read-ahead buffer, so that one call ends a
// frame and brings the next header. How much read-ahead depends on what the lane carries: behind large payload a little
// (those bytes are copied twice), behind small payload enough for a frame or many (a copy is cheaper than a call).
// Control frames say nothing about payload and leave the choice as it is. What somebody watches comes by the read-ahead
// alone: the kernel copies with string instructions, whose stores may become visible in any order (Intel SDM 3A,
// 9.2.4).
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

  // See Lane::read. After an error the same error again.
  Result<Moved> read(LaneHandler& handler, std::size_t budget_bytes);
  void withdraw(std::span<const std::byte> range);
  bool at_end() const { return at_end_; }  // the peer's orderly end of input was reached

 private:
  static constexpr std::size_t kSmallPayload = 8 * KiB;
  static constexpr std::size_t kAheadSmall = 16 * KiB;  // behind small payload
  // behind large payload: the next one then begins in its place, and the kernel's copy stays aligned
  static constexpr std::size_t kAheadLarge = kHeaderBytes;
  // behind a control frame among large ones: more of them, perhaps
  static constexpr std::size_t kAheadControl = 512;
  static constexpr std::size_t kScratch = 4 * KiB, kScratchPieces = 16;

  bool in_payload() const { return header_have_ == kHeaderBytes; }
  std::size_t ahead_bytes() const { return ahead_end_ - ahead_begin_; }

  // Parses what is in the read-ahead, up to `budget`; adds what it took to `bytes`.
  Status take_ahead(LaneHandler& handler, std::size_t budget, std::size_t& bytes);
  Status take_header(LaneHandler& handler, std::size_t& bytes);
  // One recvmsg of at most about `budget` bytes into place and read-ahead. Sets drained_.
  Status receive(LaneHandler& handler, std::size_t budget, std::size_t& bytes);
  Status payload_arrived(LaneHandler& handler, std::size_t n);

  LaneSocket& socket_;
  Status failure_;  // first error; sticks
  bool at_end_ = false;
  bool drained_ = false;                  // the last recvmsg got less than it asked for
  std::size_t ahead_next_ = kAheadSmall;  // to read behind the frame at hand

  std::array<std::byte, kHeaderBytes> header_{};
  std::size_t header_have_ = 0;      // all of kHeaderBytes: in the payload
  std::byte* place_ = nullptr;       // of the payload's next byte; null: thrown away
  std::size_t rest_ = 0;             // of the payload
  bool read_while_landing_ = false;  // see Target

  std::size_t ahead_begin_ = 0, ahead_end_ = 0;  // what in ahead_ is not parsed yet
  alignas(64) std::array<std::byte, kAheadSmall> ahead_;
  std::array<std::byte, kScratch> scratch_;  // many iovecs point at it: what is thrown away needs no room
};

}  // namespace railweave::wire

// The sending half of a TcpLane: asks for frames, hands them to the kernel by reference, says when it is done with
// them.
//
// A frame passes through: taken (asked for), written (all of it is in the kernel), released (nobody refers to its
// memory any more: at once, or with the kernel's zero-copy notice). Three counters over one ring keep this order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "wire/tcp/lane_socket.h"
#include "wire/tcp/zerocopy.h"
#include "wire/wire.h"

struct iovec;

namespace railweave::wire {

class FrameWriter {
 public:
  // Payload of at least `zerocopy_threshold_bytes` goes with MSG_ZEROCOPY while that pays; 0: never.
  FrameWriter(LaneSocket& socket, std::size_t zerocopy_threshold_bytes);

  // See Lane::write.
  Result<Moved> write(LaneHandler& handler);
  // Hears the kernel's notices, if any are owed, and releases frames.
  void reap(LaneHandler& handler);
  bool withdraw(std::span<const std::byte> range);  // see Lane::withdraw_payload
  Status finish_writing();

  bool idle() const { return written_ == taken_; }                 // nothing taken waits to be written
  std::size_t waiting_bytes() const;                               // taken and not in the kernel
  std::uint64_t bytes_in_kernel() const { return handed_bytes_; }  // ever
  bool finished() const { return shut_; }                          // half-closed: a FIN counts as one byte in SIOCOUTQ
  bool notices_owed() const { return notices_owed_ > 0; }
  // Hears the kernel's notices and releases nothing, for a lane that is ending. True: the kernel refers to no memory of
  // callers.
  bool has_let_go();

 private:
  static constexpr std::size_t kBatch = 16;           // frames asked for, and gathered in one call
  static constexpr std::size_t kCallBytes = 1 * MiB;  // gathered in one call
  static constexpr std::size_t kTurnBytes = 1 * MiB;  // moved by one write()
  static constexpr std::size_t kRingZeroCopy = 256;   // frames that may wait for notices

  struct Slot {
    std::unique_ptr<std::byte[]> kept;        // payload that was withdrawn
    std::span<const std::byte> lent;          // what its zero-copy sends are of
    std::uint32_t first_send = 0;             // number of its first zero-copy send
    std::uint32_t sends = 0, sends_owed = 0;  // how many there were; how many the kernel still refers to
  };
  struct Gathered {
    std::size_t pieces = 0, bytes = 0;
    bool zerocopy = false, more = false;  // more: frames remain behind these
  };

  std::size_t at(std::uint64_t frame) const { return std::size_t(frame) & (frames_.size() - 1); }
  bool wants_zerocopy(const OutFrame& frame) const;
  void take(LaneHandler& handler);
  Gathered gather(std::span<iovec, 2 * kBatch> iov);
  ssize_t send(std::span<iovec, 2 * kBatch> iov, Gathered& gathered);
  void advance(LaneHandler& handler, std::size_t bytes);
  void release(LaneHandler& handler);
  void on_notices();
  Status shut();

  LaneSocket& socket_;
  const std::size_t zerocopy_threshold_;
  std::optional<ZeroCopy> zerocopy_;  // none: not wanted

  std::vector<OutFrame> frames_;  // ring; a frame's payload shrinks as it is sent. Size a power of two
  std::vector<Slot> slots_;       // beside it
  std::uint64_t taken_ = 0, written_ = 0, released_ = 0;  // frames ever; released_ <= written_ <= taken_
  std::size_t header_sent_ = 0;                           // of frame written_
  std::uint64_t handed_bytes_ = 0;
  std::size_t notices_owed_ = 0;  // zero-copy sends without notice
  bool finishing_ = false, shut_ = false;
};

}  // namespace railweave::wire

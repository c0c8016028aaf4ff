// The sending half of a TcpLane: takes frames from the handler, passes them to the kernel by reference, and reports
// when their memory is free.
//
// A frame is first taken (from the handler), then written (completely in the kernel), then released. The release comes
// at once, or with the kernel's zero-copy notice. Three counters over one ring keep this order.
//
// Threads: the lane's.
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
  // Payload of at least `zerocopy_threshold_bytes` is sent with MSG_ZEROCOPY while this pays; 0: never.
  FrameWriter(LaneSocket& socket, std::size_t zerocopy_threshold_bytes);

  // See Lane::write.
  Result<Moved> write(LaneHandler& handler);
  // Reads the kernel's zero-copy notices, if any are owed, and releases frames.
  void reap(LaneHandler& handler);
  bool withdraw(std::span<const std::byte> range);  // see Lane::withdraw_payload
  Status finish_writing();                          // see Lane::finish_writing

  bool idle() const { return written_ == taken_; }                 // no taken frame waits to be written
  std::size_t waiting_bytes() const;                               // taken and not in the kernel, headers included
  std::uint64_t bytes_in_kernel() const { return handed_bytes_; }  // since the lane began
  bool finished() const { return shut_; }                          // half-closed; SIOCOUTQ counts the FIN as one byte
  bool notices_owed() const { return notices_owed_ > 0; }
  // Reads the kernel's notices and releases nothing, for a lane that is ending. True: the kernel references no memory
  // of the callers.
  bool has_let_go();

 private:
  static constexpr std::size_t kBatch = 16;           // frames taken at once, and gathered in one call
  static constexpr std::size_t kCallBytes = 1 * MiB;  // bytes gathered in one call
  static constexpr std::size_t kTurnBytes = 1 * MiB;  // bytes moved by one write()
  static constexpr std::size_t kRingZeroCopy = 256;   // frames that may wait for notices

  struct Slot {
    std::unique_ptr<std::byte[]> kept;        // the lane's copy of withdrawn payload
    std::span<const std::byte> lent;          // the payload that zero-copy sends reference
    std::uint32_t first_send = 0;             // number of the frame's first zero-copy send (ZeroCopyNotice)
    std::uint32_t sends = 0, sends_owed = 0;  // zero-copy sends of the frame; those without notice so far
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
  void read_notices();
  Status shut();

  LaneSocket& socket_;
  const std::size_t zerocopy_threshold_;
  std::optional<ZeroCopy> zerocopy_;  // none: zero-copy is off

  std::vector<OutFrame> frames_;  // ring, its size a power of two; payload shrinks as it is sent
  std::vector<Slot> slots_;       // one for each frame of frames_
  std::uint64_t taken_ = 0, written_ = 0, released_ = 0;  // frames so far; released_ <= written_ <= taken_
  std::size_t header_sent_ = 0;                           // header bytes of frame written_ in the kernel
  std::uint64_t handed_bytes_ = 0;                        // bytes in the kernel since the lane began
  std::size_t notices_owed_ = 0;                          // zero-copy sends without notice so far
  bool finishing_ = false, shut_ = false;
};

}  // namespace railweave::wire

// The sending half of a simulated lane. ask: bytes are copied, as a kernel does, and a frame is released when the last
// is; push and pull: payload is read from the caller's memory when it goes onto the link, and released on
// acknowledgement.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "wire/sim/pipe.h"
#include "wire/wire.h"

namespace railweave::wire {

class SimSending {
 public:
  SimSending(Placement placement, SimPipe& pipe, std::size_t buffer_bytes)
      : placement_(placement), pipe_(pipe), buffer_bytes_(buffer_bytes) {}

  Moved write(LaneHandler& handler);
  // Releases that are owed.
  void release(LaneHandler& handler);
  void withdraw(std::span<const std::byte> range);
  void finish();
  // The lane is destroyed: memory of the caller is not looked at again, what was copied still goes.
  void abandon();

  void acknowledged(std::uint64_t frame);
  void fetch();  // pull: the receiver wants the oldest payload kept here

  bool at_frame_boundary() const { return taken_.empty(); }
  // Taken, and not with the pipe.
  std::size_t waiting_bytes() const { return waiting_bytes_ + copied_.size(); }

  std::uint64_t payload_bytes = 0, frames = 0;  // written, ever

 private:
  struct Taken {  // ask: a frame on its way into the send buffer
    OutFrame frame;
    std::size_t header_sent = 0;
    std::unique_ptr<std::byte[]> own;  // payload, once withdrawn
  };
  struct Kept {  // pull: payload until it is fetched
    std::span<const std::byte> payload;
    std::unique_ptr<std::byte[]> own;
    std::uint64_t frame;
  };

  std::size_t room() const;
  bool take(LaneHandler& handler);
  std::size_t copy_front(LaneHandler& handler);
  void put_copied();
  void refer(const OutFrame& frame);
  void end_if_finished();

  const Placement placement_;
  SimPipe& pipe_;
  const std::size_t buffer_bytes_;
  std::deque<Taken> taken_;
  std::deque<Kept> kept_;
  std::size_t waiting_bytes_ = 0;
  std::vector<std::byte> copied_;            // ask: by this write(), which puts all of it at its end
  std::deque<bool> acknowledged_;            // of frames not yet released, oldest first
  std::uint64_t released_ = 0, handed_ = 0;  // frames ever; push, pull
  bool finishing_ = false, ended_ = false;
};

}  // namespace railweave::wire

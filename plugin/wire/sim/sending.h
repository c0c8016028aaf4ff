// The sending half of a simulated lane. Bytes are copied, as a kernel does, and a frame is released when the last is.
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
  SimSending(SimPipe& pipe, std::size_t buffer_bytes) : pipe_(pipe), buffer_bytes_(buffer_bytes) {}

  Moved write(LaneHandler& handler);
  void withdraw(std::span<const std::byte> range);
  void finish();
  // The lane is destroyed: memory of the caller is not looked at again, what was copied still goes.
  void abandon();

  bool at_frame_boundary() const { return taken_.empty(); }
  // Taken, and not with the pipe.
  std::size_t waiting_bytes() const { return waiting_bytes_ + copied_.size(); }

  LaneCounters* counters = nullptr;  // the lane's; set before the first write()

 private:
  struct Taken {  // a frame on its way into the send buffer
    OutFrame frame;
    std::size_t header_sent = 0;
    std::unique_ptr<std::byte[]> own;  // payload, once withdrawn
  };

  std::size_t room() const;
  bool take(LaneHandler& handler);
  std::size_t copy_front(LaneHandler& handler);
  void put_copied();
  void end_if_finished();

  SimPipe& pipe_;
  const std::size_t buffer_bytes_;
  std::deque<Taken> taken_;
  std::size_t waiting_bytes_ = 0;
  std::vector<std::byte> copied_;  // by this write(), which puts all of it at its end
  bool finishing_ = false, ended_ = false;
};

}  // namespace railweave::wire

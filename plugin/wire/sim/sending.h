// The sending half of a simulated lane. Copies bytes, as a kernel does, and releases a frame with its last byte.
// Threads: the network's.
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

  Moved write(LaneHandler& handler);                // see Lane::write
  void withdraw(std::span<const std::byte> range);  // see Lane::withdraw_payload
  void finish();                                    // see Lane::finish_writing
  // For a destroyed lane: sends the copied bytes, and never reads the caller's memory again.
  void abandon();

  bool at_frame_boundary() const { return taken_.empty(); }
  // Bytes taken from the handler and not passed to the pipe.
  std::size_t waiting_bytes() const { return waiting_bytes_ + copied_.size(); }

  LaneCounters* counters = nullptr;  // the lane's; set before the first write()

 private:
  struct Taken {  // a frame on its way into the send buffer
    OutFrame frame;
    std::size_t header_sent = 0;
    std::unique_ptr<std::byte[]> own;  // the lane's copy of withdrawn payload
  };

  std::size_t room() const;  // free bytes of the send buffer
  bool take(LaneHandler& handler);
  std::size_t copy_front(LaneHandler& handler);
  void put_copied();
  void end_if_finished();

  SimPipe& pipe_;
  const std::size_t buffer_bytes_;
  std::deque<Taken> taken_;
  std::size_t waiting_bytes_ = 0;  // of taken_, not copied; headers included
  std::vector<std::byte> copied_;  // bytes copied by this write(), which passes them to the pipe at its end
  bool finishing_ = false, ended_ = false;
};

}  // namespace railweave::wire

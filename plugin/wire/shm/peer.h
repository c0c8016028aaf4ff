// The process at the other end of a ShmLane, as the kernel knows it by the lane's socket: whether it lives, its memory,
// and how to wake it.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/fd.h"
#include "railweave/status.h"
#include "wire/lane_metrics.h"
#include "wire/shm/layout.h"

namespace railweave::wire::shm {

class Peer {
 public:
  // `socket`: a connected, non-blocking AF_UNIX stream.
  explicit Peer(OwnedFd socket);

  int descriptor() const { return socket_.get(); }
  pid_t pid() const { return pid_; }                 // in our namespace; 0: it has none there
  const std::string& name() const { return name_; }  // of the lane, in messages: "rail shm: pid 12 to pid 34"
  Status closed(bool inside_frame) const;            // Code::remote

  // Asks the kernel whether its end was closed. Once gone, gone for good.
  bool poll();
  bool gone() const { return gone_; }
  // Takes the wake-ups that came off the socket.
  void drain_wakeups();
  // If it waits for any of `what` in `waits`: clears that, and wakes it. After the store it is about, seq_cst.
  void wake(std::atomic<std::uint32_t>& waits, std::uint32_t what);

  // Reads its memory; bytes read (perhaps not all), or -errno.
  ssize_t fetch(std::uint64_t address, std::byte* to, std::size_t bytes);

  // The lane's. Calls of fetch() count as received, wake-ups as sent.
  const std::shared_ptr<LaneMetrics>& metrics() const { return metrics_; }

 private:
  OwnedFd socket_;
  pid_t pid_ = 0;
  std::string name_;
  bool gone_ = false;
  std::shared_ptr<LaneMetrics> metrics_;
};

}  // namespace railweave::wire::shm

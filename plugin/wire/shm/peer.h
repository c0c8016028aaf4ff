// Peer is the process at the other end of a ShmLane, identified by the lane's socket: its liveness, its memory, and
// wake-ups. Threads: the lane's.
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
  pid_t pid() const { return pid_; }                 // in this process's pid namespace; 0: none there
  const std::string& name() const { return name_; }  // the lane's name in messages: "rail shm: pid 12 to pid 34"
  Status closed(bool inside_frame) const;            // Code::remote

  // Asks the kernel whether the peer closed its end. True: the peer is there. False is final.
  bool check_alive();
  bool gone() const { return gone_; }
  // Reads and discards the wake-ups on the socket. May find the peer gone.
  void drain_wakeups();
  // Wakes the peer if `waits` has a bit of `what`, and clears `waits`. REQUIRES: a seq_cst store of the news before.
  void wake(std::atomic<std::uint32_t>& waits, std::uint32_t what);

  // Reads the peer's memory. Returns the bytes read, possibly fewer than `bytes`, or -errno.
  ssize_t fetch(std::uint64_t address, std::byte* to, std::size_t bytes);

  // The lane's metrics. fetch() counts as a received call, a wake-up as a sent call.
  const std::shared_ptr<LaneMetrics>& metrics() const { return metrics_; }

 private:
  OwnedFd socket_;
  pid_t pid_ = 0;
  std::string name_;
  bool gone_ = false;
  std::shared_ptr<LaneMetrics> metrics_;
};

}  // namespace railweave::wire::shm

// What the two halves of a TcpLane share: the socket, what it is called in messages, and the counters.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "base/fd.h"
#include "railweave/status.h"

namespace railweave::wire {

// Written by the thread that drives the lane, read by any.
class Counter {
 public:
  void add(std::uint64_t n) { value_.store(get() + n, std::memory_order_relaxed); }
  std::uint64_t get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

struct LaneCounters {
  Counter payload_bytes, frames, calls;
};

struct LaneSocket {
  OwnedFd fd;
  std::string rail, local, remote;
  LaneCounters sent, received;

  LaneSocket(OwnedFd socket, std::string rail_name);

  // Code::remote where the connection is what failed, Code::system otherwise.
  Status failure(const char* call, int err) const;
  Status closed_by_peer(bool inside_frame) const;
};

// The errnos that say that this connection is dead, rather than that the call was wrong.
bool means_lane_lost(int err);

}  // namespace railweave::wire

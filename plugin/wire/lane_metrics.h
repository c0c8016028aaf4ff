// The counters of one lane, and the last observed state of its connection (decision D13).
//
// Threads: the holder of the lane's claim writes, any thread reads. Lifetime: shared; a reader may outlive the lane.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/cache_line.h"
#include "base/metrics.h"
#include "railweave/stats.h"

namespace railweave::wire {

// The counters of one direction.
struct LaneCounters {
  Counter payload_bytes, frames;
  Counter calls;  // system calls, including those that moved nothing
};

struct alignas(kCacheLineBytes) LaneMetrics {
  LaneMetrics(std::string_view its_wire, std::string its_rail, std::string local, std::string remote)
      : wire(its_wire), rail(std::move(its_rail)), local_address(std::move(local)), remote_address(std::move(remote)) {}

  const std::string wire;                           // Wire::name()
  const std::string rail;                           // name of the local interface
  const std::string local_address, remote_address;  // "address:port"; "pid N" for shm
  LaneCounters sent, received;
  // Written by Lane::health(); values of its last call. Zero where the wire has no such value.
  Gauge outstanding_bytes;  // sent and not acknowledged by the peer's kernel (shm: by the peer's lane)
  Gauge retransmits;        // TCP segments, since the connection began
  Gauge rate_bytes_per_s;   // TCP's delivery rate, of the kernel
  Gauge min_rtt_ns;         // 0: not known
  // Written by the lane's driver (engine/session/lane_driver.cc).
  Gauge damaged_frames;  // frames that arrived altered
  Gauge closed;          // 1: the lane has ended
  // Written by engine/credit/lane_credit.cc; units and sentinels as in LaneStats.
  Gauge send_window_bytes, recv_window_bytes, rail_senders, without_credit_ns;

  LaneStats stats() const;
};

}  // namespace railweave::wire

// What a lane counts while it lives, and what was seen of its connection last (decision D13).
//
// Threads: the holder of the lane's claim writes, any thread reads. Shared: whoever reads may outlive the lane.
#pragma once

#include <string>
#include <utility>

#include "base/cache_line.h"
#include "base/metrics.h"
#include "railweave/stats.h"

namespace railweave::wire {

// One direction.
struct LaneCounters {
  Counter payload_bytes, frames;
  Counter calls;  // system calls, those that moved nothing included
};

struct alignas(kCacheLineBytes) LaneMetrics {
  LaneMetrics(std::string its_rail, std::string local, std::string remote)
      : rail(std::move(its_rail)), local_address(std::move(local)), remote_address(std::move(remote)) {}

  const std::string rail;  // local interface
  const std::string local_address, remote_address;
  LaneCounters sent, received;
  // As of the last Lane::health().
  Gauge outstanding_bytes;  // written and not acknowledged by the peer's kernel
  Gauge retransmits;        // TCP segments
  Gauge rate_bytes_per_s;   // of the kernel
  Gauge min_rtt_ns;
  // By the lane's driver.
  Gauge damaged_frames;  // arrived altered
  Gauge closed;          // 1: the lane is given up
  // By engine/credit/lane_credit.cc, as LaneStats has them.
  Gauge send_window_bytes, recv_window_bytes, rail_senders, without_credit_ns;

  LaneStats stats() const;
};

}  // namespace railweave::wire

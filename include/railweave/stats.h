// Counters a user may read while the engine runs. All values are snapshots; counters only grow.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "railweave/units.h"

namespace railweave {

struct LaneStats {
  std::string rail;                                    // local interface
  std::string local_address, remote_address;           // "address:port", "[address]:port" for IPv6
  std::uint64_t bytes_sent = 0, bytes_received = 0;    // payload
  std::uint64_t frames_sent = 0, frames_received = 0;  // data and control
  std::uint64_t write_calls = 0, read_calls = 0;       // system calls, those that moved nothing included
  std::uint64_t outstanding_bytes = 0;                 // written and not yet acknowledged by the peer's kernel
  std::uint64_t retransmits = 0;                       // TCP segments
  // arrived altered: header or payload. Each cost its lane, and came again by another
  std::uint64_t damaged_frames = 0;
  Rate rate;  // of the kernel: TCP's delivery rate, not the estimate that decides
  Nanos min_rtt{0};
  // Credit windows (docs/internals/credit_windows.md); 0: no bound.
  std::uint64_t send_window_bytes = 0;  // that the peer lets us have under way; 0: any number, 1: none
  std::uint64_t recv_window_bytes = 0;  // that we let the peer have under way
  // lanes that have more to send to our rail, of all processes of this user: they share it
  std::uint64_t rail_senders = 0;
  Nanos without_credit{0};  // data waited here, for the peer allowed no more
  // given up; what it carried still counts. Of those long gone one for each rail: their sums, and the addresses of the
  // last
  bool closed = false;
};

struct SessionStats {
  std::string peer;  // "host pid instance"
  std::vector<LaneStats> lanes;
  std::uint32_t send_streams = 0, recv_streams = 0;
  std::uint64_t sends_pending = 0, recvs_pending = 0;  // requests not yet done
  std::uint64_t control_frames = 0;                    // sent ever, keepalives not included
  // of them, because their lane was late. Without faults at most one in a thousand
  std::uint64_t control_frames_said_again = 0;
  Nanos oldest_request_age{0};  // 0 when nothing is pending
};

// A rail of the engine, also one without a lane.
struct RailStats {
  std::string name;                    // of the interface
  std::vector<std::string> addresses;  // without port, best first; empty while the rail's interface is gone
  bool link_up = true;                 // as the kernel told last; true where the kernel tells nothing
};

struct EngineStats {
  std::string instance;          // 128-bit id in hex
  std::vector<RailStats> rails;  // those the engine started with and those that came since
  std::vector<SessionStats> sessions;
};

}  // namespace railweave

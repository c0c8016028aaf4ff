// Counters that a user may read while the engine runs (Engine::stats()). All values are snapshots; counters only grow.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "railweave/units.h"

namespace railweave {

struct LaneStats {
  std::string wire;                                    // "tcp", "shm", "verbs", "ofi"
  std::string rail;                                    // local interface
  std::string local_address, remote_address;           // "address:port", "[address]:port" for IPv6
  std::uint64_t bytes_sent = 0, bytes_received = 0;    // payload
  std::uint64_t frames_sent = 0, frames_received = 0;  // data and control
  std::uint64_t write_calls = 0, read_calls = 0;       // system calls, including calls that moved no byte
  std::uint64_t outstanding_bytes = 0;                 // written and not yet acknowledged by the peer's kernel
  std::uint64_t retransmits = 0;                       // retransmitted TCP segments
  // frames that arrived with a wrong header or payload. Each ended its lane and was retransmitted on another lane
  std::uint64_t damaged_frames = 0;
  Rate rate;         // the kernel's TCP delivery rate, not the estimate that the striper uses
  Nanos min_rtt{0};  // the kernel's shortest round trip
  // Credit windows (docs/internals/credit_windows.md); 0: no bound.
  std::uint64_t send_window_bytes = 0;  // most bytes that this end may have under way; 0: no bound, 1: none allowed
  std::uint64_t recv_window_bytes = 0;  // most bytes that the peer may have under way; likewise
  // lanes, over all processes of this user, whose peers have more to send to this rail; these lanes share the rail
  std::uint64_t rail_senders = 0;
  Nanos without_credit{0};  // time in which data waited because the peer's window was used up
  // true: the lane was given up; its counters stay. Older closed lanes are merged into one entry per rail and wire,
  // with the sums of the counters and the addresses of the last lane
  bool closed = false;
};

struct SessionStats {
  std::string peer;  // "host pid instance"
  std::vector<LaneStats> lanes;
  std::uint32_t send_streams = 0, recv_streams = 0;
  std::uint64_t sends_pending = 0, recvs_pending = 0;  // requests not yet done
  std::uint64_t control_frames = 0;                    // sent since the session began, without keepalives
  // control frames among them that were retransmitted because their lane was late; without faults at most 1 in 1000. In
  // JSON: control_frames_said_again
  std::uint64_t control_frames_retransmitted = 0;
  Nanos oldest_request_age{0};  // 0 when nothing is pending
};

// A rail of the engine, with or without lanes.
struct RailStats {
  std::string name;                    // the interface's name
  std::vector<std::string> addresses;  // without port, best first; empty while the rail's interface is gone
  bool link_up = true;                 // the kernel's latest report; true where the kernel reports nothing
};

struct EngineStats {
  std::string instance;          // 128-bit id in hex
  std::vector<RailStats> rails;  // rails of the start, then rails that joined later
  std::vector<SessionStats> sessions;
};

}  // namespace railweave

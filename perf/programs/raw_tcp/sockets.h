// The sockets of a measurement: for each rail, non-blocking connections from rank 0's address to rank 1's, bound to
// address and device at both ends.
#pragma once

#include <string>
#include <vector>

#include "base/fd.h"
#include "common/control_connection.h"
#include "common/rail_list.h"
#include "raw_tcp/options.h"

namespace railweave::perf::raw_tcp {

struct Connection {
  OwnedFd socket;
  std::string rail;  // this rank's interface
};

// Opens `per_rail` connections for each of this rank's `rails`, in order. The k-th rail of rank 0 is joined with the
// k-th of rank 1. Both ranks call this at the same time. Errors: system, timed_out (10 s), remote.
Result<std::vector<Connection>> open_connections(ControlConnection& control, const std::vector<RailAddress>& rails,
                                                 int per_rail, const Options& options);

// Returns the algorithm that the kernel reports for the socket.
std::string congestion_control_of(int socket);
// Returns the number of TCP segments retransmitted so far.
std::uint64_t retransmits_of(int socket);

}  // namespace railweave::perf::raw_tcp

// The sockets of a measurement: for each rail, connections from rank 0's address to rank 1's, bound to address and
// device at both ends, non-blocking.
#pragma once

#include <string>
#include <vector>

#include "base/fd.h"
#include "common/rail_list.h"
#include "common/rendezvous.h"
#include "raw_tcp/options.h"

namespace railweave::perf::raw_tcp {

struct Connection {
  OwnedFd socket;
  std::string rail;  // this rank's interface
};

// `per_rail` connections for each of this rank's `rails`, in order; the k-th rail of rank 0 meets the k-th of rank 1.
// Both ranks call it at the same time. Errors: system, timed_out (10 s), remote.
Result<std::vector<Connection>> open_connections(Rendezvous& rendezvous, const std::vector<RailAddress>& rails,
                                                 int per_rail, const Options& options);

// What the kernel says the socket uses.
std::string congestion_control_of(int socket);
// TCP segments sent again so far.
std::uint64_t retransmits_of(int socket);

}  // namespace railweave::perf::raw_tcp

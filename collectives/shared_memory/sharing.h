// Sets up a shm exchange for the ranks of a group: all of them get it, or none.
#pragma once

#include <memory>
#include <string>

#include "collectives/group/group.h"
#include "collectives/rendezvous/rendezvous.h"
#include "collectives/shared_memory/shm_queue.h"

namespace railweave::collectives {

// Permissions of one rank. A feature is used only if every rank permits it.
struct ShmPermit {
  bool shares_memory = false;
  bool in_pieces = false;    // large operations on the exchange, see ShmQueue
  bool reads_others = true;  // reads the other ranks' memory, see Neighbours
};

// Agrees on a shm exchange and maps it. Every rank calls it, between the same two operations of the group. `named`: see
// ShmQueue. Returns null if some rank does not allow it, or could not map the memory (that rank logs why at level
// INFO). Errors: of the group's operations; timed_out. REQUIRES: all ranks share a host.
Result<std::unique_ptr<ShmQueue>> share_shm_exchange(Group& group, Rendezvous& place, ShmPermit own, Nanos timeout,
                                                     const std::string& named);

}  // namespace railweave::collectives

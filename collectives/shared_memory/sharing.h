// How the ranks of a group come by an exchange: all or none of them.
#pragma once

#include <memory>
#include <string>

#include "collectives/group/group.h"
#include "collectives/rendezvous/rendezvous.h"
#include "collectives/shared_memory/shm_queue.h"

namespace railweave::collectives {

// What a rank may do. What some rank may not, none does.
struct ShmPermit {
  bool shares_memory = false;
  bool in_pieces = false;    // large operations on the exchange, see ShmQueue
  bool reads_others = true;  // their memory, see Neighbours
};

// Every rank calls it, between the same two operations of the group, whose ranks all share a host. `named`: see
// ShmQueue.
// Null: some rank may not, or could not (told at level INFO). Errors: of the group.
Result<std::unique_ptr<ShmQueue>> share_exchange(Group& group, Rendezvous& place, ShmPermit own, Nanos timeout,
                                                 const std::string& named);

}  // namespace railweave::collectives

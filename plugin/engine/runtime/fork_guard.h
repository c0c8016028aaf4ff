// A forked child must not keep the parent's connections open (the peer would wait for a dead parent's children), nor
// use them. Every engine descriptor is registered here; a pthread_atfork handler closes all of them in the child, where
// the engines it was forked with are dead: their calls answer Code::internal and they are never destroyed, because fork
// may have caught their threads in the middle of anything. The child may start engines of its own.
// Threads: any.
#pragma once

#include "base/process_origin.h"
#include "railweave/status.h"

namespace railweave::engine {

// Closed in forked children from now on. Idempotent. Descriptors of 65,536 and above are not guarded.
void guard_descriptor(int fd);
// Call before closing it.
void release_descriptor(int fd);

// What a dead engine's calls answer.
Status dead_after_fork();

}  // namespace railweave::engine

// Closes the engines' descriptors in forked children. A child must not use the parent's connections, and must not keep
// them open: after the parent's death a peer would wait for the child to close them.
//
// Fork: each engine registers its descriptors here, and a pthread_atfork handler closes all of them in the child. The
// parent's engines are dead in the child: their calls return Code::internal. They are never destroyed there, because
// fork may have caught their threads inside any lock. The child may start engines of its own.
// Threads: any.
#pragma once

#include "base/process_origin.h"
#include "railweave/status.h"

namespace railweave::engine {

// Closes `fd` in children forked from now on. Idempotent. Negative descriptors, and those of 65,536 and above, are not
// guarded.
void guard_descriptor(int fd);
// Ends the guard. Call it before closing `fd`.
void release_descriptor(int fd);

// The error that a dead engine's calls return.
Status dead_after_fork();

}  // namespace railweave::engine

// A forked child must not keep the parent's connections open (the peer would wait for a dead parent's children), nor use
// them. Every engine descriptor is registered here; a pthread_atfork handler closes all of them in the child.
// Threads: any. In the child every engine is dead: calls answer Code::internal.
#pragma once

namespace railweave::engine {

// Closed in forked children from now on. Idempotent. Descriptors of 65,536 and above are not guarded.
void guard_descriptor(int fd);
// Call before closing it.
void release_descriptor(int fd);
// True in a child forked while an engine lived.
bool forked_child();

}  // namespace railweave::engine

// The living backends of a process, so that all can leave before the interpreter ends.
// Threads: any. Fork: a child also has its parent's backends, whose groups are dead in the child.
#pragma once

#include "torch_ext/csrc/backend.h"

namespace railweave::torch_ext {

// Registers a backend without keeping it alive.
void register_backend(const c10::intrusive_ptr<RailweaveBackend>& backend);
// Calls leave() of each backend, then waits for Futures' tasks (await_future_threads()). The GIL must not be held.
void leave_all();

}  // namespace railweave::torch_ext

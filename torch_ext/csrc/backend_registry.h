// The backends of a process that are there, so that all can leave before its interpreter goes.
// Threads: any. A forked child has its parent's, too, whose groups are dead there.
#pragma once

#include "torch_ext/csrc/backend.h"

namespace railweave::torch_ext {

// Does not keep it alive.
void register_backend(const c10::intrusive_ptr<RailweaveBackend>& backend);
// leave() of each. Must not be called with the GIL held.
void leave_all();

}  // namespace railweave::torch_ext

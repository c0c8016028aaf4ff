// Hints of a thread about the operations that it calls: railweave.hints() in Python.
// Threads: each has its own hints; a thread that set none has the defaults.
#pragma once

#include "collectives/group/group.h"

namespace railweave::torch_ext {

collectives::Hints hints_of_this_thread();
// Sets the priority of the calling thread's operations from now on; returns the previous one.
Priority set_priority(Priority priority);

}  // namespace railweave::torch_ext

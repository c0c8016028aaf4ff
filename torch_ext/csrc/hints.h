// What a thread says of the operations that it calls, beside their arguments: railweave.hints() in Python.
// Threads: each has its own; those of a thread that said nothing are the defaults.
#pragma once

#include "collectives/group/group.h"

namespace railweave::torch_ext {

collectives::Hints hints_of_this_thread();
// What the calling thread says from now on; returns what it said before.
Priority set_priority(Priority priority);

}  // namespace railweave::torch_ext

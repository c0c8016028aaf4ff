// How long a thread has waited for a core. In such time the thread answers nothing, and peers may take it for dead.
#pragma once

#include <optional>

#include "railweave/units.h"

namespace railweave {

// Returns how long the calling thread was runnable but not running since it began: the second number of
// /proc/thread-self/schedstat. None where the kernel does not provide the number. Threads: any.
std::optional<Nanos> core_wait();

}  // namespace railweave

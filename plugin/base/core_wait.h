// How long a thread has waited for a core: time in which it could not do what it was asked for, and others may think it
// dead.
#pragma once

#include <optional>

#include "railweave/units.h"

namespace railweave {

// How long the calling thread was runnable but not running since it began: the second number of
// /proc/thread-self/schedstat. None where the kernel does not say.
std::optional<Nanos> core_wait();

}  // namespace railweave

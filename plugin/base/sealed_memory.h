// Memory that several processes map: a memfd that can neither shrink nor grow, so that no access to a mapping faults.
// Threads: any.
#pragma once

#include <cstddef>

#include "base/fd.h"
#include "railweave/status.h"

namespace railweave {

// Returns zeroed memory of `bytes`; /proc/PID/fd shows `name`. Errors: exhausted (no memory or descriptors), system.
Result<OwnedFd> make_sealed_memory(std::size_t bytes, const char* name = "railweave");
// Checks memory that another process passed. Errors: Code::remote if the memory has another size than `bytes` or may
// shrink; system.
Status check_sealed_memory(int fd, std::size_t bytes);
// Returns the error of a failed system call on such memory, from errno: Code::exhausted or system. `call` names the
// call.
Status memory_error(const char* call);

}  // namespace railweave

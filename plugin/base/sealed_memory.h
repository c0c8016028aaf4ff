// Memory for several processes to map: a memfd that can neither shrink nor grow, so that no access to a mapping of it
// faults.
// Threads: any.
#pragma once

#include <cstddef>

#include "base/fd.h"
#include "railweave/status.h"

namespace railweave {

// Zeroed; /proc/PID/fd shows `name`. Errors: exhausted (no memory or descriptors), system.
Result<OwnedFd> make_sealed_memory(std::size_t bytes, const char* name = "railweave");
// Checks memory that came from another process. Errors: Code::remote when its size or its seals are not what they must
// be; system.
Status check_sealed_memory(int fd, std::size_t bytes);
// What a call on such memory failed with: Code::exhausted or system, from errno.
Status memory_error(const char* call);

}  // namespace railweave

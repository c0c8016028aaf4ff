// From our errors to NCCL's: one code, one warning, no exception.
#pragma once

#include "nccl/abi/net.h"
#include "railweave/status.h"

namespace railweave::nccl {

// ncclSystemError for system calls and exhausted bounds, ncclRemoteError for what the peer did or failed to do in time,
// ncclInvalidUsage for configuration, arguments and sizes that do not match, ncclInternalError for the rest.
abi::ReturnCode return_code(Code code);

// Warns with the status's message and gives its code.
abi::ReturnCode report(const Status& status);

// Warns that `entry` was left by an exception; to be called while it is being handled.
abi::ReturnCode report_exception(const char* entry) noexcept;

// Runs one entry of a table. Nothing thrown crosses the C ABI.
template <class Body>
abi::ReturnCode guarded(const char* entry, Body&& body) noexcept {
  try {
    return body();
  } catch (...) {
    return report_exception(entry);
  }
}

}  // namespace railweave::nccl

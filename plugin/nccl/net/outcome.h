// Converts our errors into NCCL's: one return code, one log line at WARN, no exception. Threads: any.
#pragma once

#include "nccl/abi/net.h"
#include "railweave/status.h"

namespace railweave::nccl {

// ncclSystemError: system calls and exhausted bounds. ncclRemoteError: the peer failed, left or did not answer in time.
// ncclInvalidUsage: configuration, arguments and sizes that do not match. ncclInternalError: all other errors.
abi::ReturnCode return_code(Code code);

// Logs the status's message at WARN, unless the status is ok. Returns the code.
abi::ReturnCode report(const Status& status);

// Logs at WARN that `entry` threw, and returns kInternalError. REQUIRES: called while the exception is being handled.
abi::ReturnCode report_exception(const char* entry) noexcept;

// Runs one entry of a table. No exception crosses the C ABI.
template <class Body>
abi::ReturnCode guarded(const char* entry, Body&& body) noexcept {
  try {
    return body();
  } catch (...) {
    return report_exception(entry);
  }
}

}  // namespace railweave::nccl

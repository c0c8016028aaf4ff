// Where our log lines go: to the logger NCCL handed to init, prefixed "NET/Railweave : ".
// Warnings carry every subsystem flag (NCCL drops a warning whose flags miss NCCL_DEBUG_SUBSYS, and makes its text
// ncclGetLastError), lines about init INIT|NET (the default mask holds INIT), about traffic NET, about variables ENV.
#pragma once

#include "nccl/abi/net.h"

namespace railweave::nccl {

// Makes `logger` the process's sink; null silences. Any thread.
void log_through(abi::Logger logger);

}  // namespace railweave::nccl

// Sends our log lines to the logger that NCCL passed to init, with the prefix "NET/Railweave : ".
//
// Subsystem flags: warnings carry all flags, because NCCL drops a warning whose flags miss NCCL_DEBUG_SUBSYS, and keeps
// the text for ncclGetLastError. Lines about init carry INIT|NET (the default mask has INIT), lines about traffic NET,
// lines about variables ENV.
#pragma once

#include "nccl/abi/net.h"

namespace railweave::nccl {

// Makes `logger` the sink of the process's log; null: no log. Any thread.
void log_through(abi::Logger logger);

}  // namespace railweave::nccl

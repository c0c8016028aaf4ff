// The wire "ofi": lanes over libfabric, between hosts (docs/internals/message_wires.md). The library is loaded at run
// time. Lives as long as the process. Threads: any.
#pragma once

#include "wire/port.h"

namespace railweave::wire {

const Wire& ofi_wire();

}  // namespace railweave::wire

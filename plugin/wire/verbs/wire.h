// The verbs wire (wire/port.h): RDMA over RoCE v2 by libibverbs, which is loaded when a port is opened. A build without
// the library's header has the wire, too, but opens no port.
//
// Lanes are message lanes (docs/internals/message_wires.md). Lanes do not encrypt.
#pragma once

#include "wire/port.h"

namespace railweave::wire {

const Wire& verbs_wire();

}  // namespace railweave::wire

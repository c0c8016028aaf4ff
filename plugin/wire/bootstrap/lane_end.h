// The cause of a lane's end, from the error of a call on its connection. Pure. Threads: any.
#pragma once

#include "wire/wire.h"

namespace railweave::wire {

// Maps the errno of a call on a connection to the cause of the lane's end. 0 (end of input): closed. EBADMSG (bad TLS
// record): corrupted. system: the call was wrong or this host lacks a resource; the connection may still stand.
LaneEnd lane_end_of(int err);

}  // namespace railweave::wire

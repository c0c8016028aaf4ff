// The shm wire, shared memory within a host (wire/port.h). The dialler offers the descriptor of a shared object. The
// bootstrap stays open beside the lane, so that each end detects the death of the other (docs/internals/shm.md).
#pragma once

#include "wire/port.h"

namespace railweave::wire {

const Wire& shm_wire();

}  // namespace railweave::wire

// Shared memory as a wire within a host (wire/port.h): the dialler offers the descriptor of a shared object, and the
// bootstrap stays open beside the lane, so that each end sees the other's death (docs/internals/shm.md).
#pragma once

#include "wire/port.h"

namespace railweave::wire {

const Wire& shm_wire();

}  // namespace railweave::wire

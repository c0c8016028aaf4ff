// TCP as a wire (wire/port.h): the bootstrap becomes the lane. There is nothing to offer, so that every peer can be met
// by it.
#pragma once

#include "wire/port.h"

namespace railweave::wire {

const Wire& tcp_wire();

}  // namespace railweave::wire
